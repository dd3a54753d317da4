import Hummingbird
import Logging
package import NIOCore
import ServiceHost
import ServiceLifecycle

extension TestService {
    /// Serves HTTP on a loopback port until `body` returns; 0 means any free port.
    package func served<Value: Sendable>(
        on port: Int = 0,
        bodyGrace: TimeAmount? = nil,
        _ body: @Sendable @escaping (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, portContinuation) = AsyncStream<Int>.makeStream()
        let services = assembled.server(port: port, bodyGrace: bodyGrace, logger: logger) { channel in
            portContinuation.yield(channel.localAddress?.port ?? 0)
        }
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [], logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { portContinuation.finish() }
                try await group.run()
            }
            let outcome: Result<Value, any Error>
            do {
                var portIterator = ports.makeAsyncIterator()
                guard let port = await portIterator.next() else { throw TestSupportError("the server did not start") }
                outcome = .success(try await body(port))
            } catch {
                outcome = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try outcome.get()
        }
    }
}
