import LocalPostgres
import Logging

struct PrivateServer: Sendable {
    let workspace: Workspace
    let logger: Logger

    /// Runs a body with the running server, or starts the server for the duration of the body.
    func withRunningServer<Value: Sendable>(_ body: (PostgresServer) async throws -> Value) async throws -> Value {
        let server = try PostgresServer(.init(directory: workspace.postgres), logger: logger)
        if try server.isRunningElsewhere() {
            return try await body(server)
        }
        return try await start(server, body)
    }

    /// Starts the server for the duration of the body; the server must not run yet.
    func withExclusiveServer<Value: Sendable>(_ body: (PostgresServer) async throws -> Value) async throws -> Value {
        try await start(try PostgresServer(.init(directory: workspace.postgres), logger: logger), body)
    }

    private func start<Value: Sendable>(
        _ server: PostgresServer,
        _ body: (PostgresServer) async throws -> Value
    ) async throws -> Value {
        try workspace.create()
        try workspace.lock()
        let result: Result<Value, any Error>
        do {
            try await server.start()
            try workspace.recordCheckout()
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        // This task is not cancelled with the rest, because a killed server must recover at its next start.
        await Task { await server.stop() }.value
        return try result.get()
    }
}
