import Logging
import NIOCore
import ServiceHost
import ServiceLifecycle
import TestSupport

/// Runs a service on its own port, as its executable does, during `body`.
func withServer(_ service: TestService, _ body: (Int) async throws -> Void) async throws {
    let (ports, bound) = AsyncStream<Int>.makeStream()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let services = service.assembled.server(port: 0, logger: logger) { channel in
        bound.yield(channel.localAddress?.port ?? 0)
    }
    let group = ServiceGroup(services: services, gracefulShutdownSignals: [], logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let outcome: Result<Void, any Error>
        do {
            for await port in ports.prefix(1) { try await body(port) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        try outcome.get()
    }
}
