import LocalPostgres
import Logging

/// The private PostgreSQL of a checkout, lent to a command.
struct PrivateServer: Sendable {
    let workspace: Workspace
    let logger: Logger

    /// Lends the server that runs, or starts it for as long as the body takes.
    func withRunningServer<Value: Sendable>(_ body: (PostgresServer) async throws -> Value) async throws -> Value {
        let server = try PostgresServer(.init(directory: workspace.postgres), logger: logger)
        if try server.isRunningElsewhere() {
            return try await body(server)
        }
        return try await start(server, body)
    }

    /// Starts the server for as long as the body takes; nobody else may use it.
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
        // Not interrupted with the rest: a server that is killed has to recover.
        await Task { await server.stop() }.value
        return try result.get()
    }
}
