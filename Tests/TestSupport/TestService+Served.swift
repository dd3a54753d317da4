import Hummingbird
import Logging
package import NIOCore
import ServiceHost
import ServiceLifecycle

extension TestService {
    /// Serves on a port of this machine while the body runs, as the real one does; 0 takes any port.
    package func served<Value: Sendable>(
        on port: Int = 0,
        bodyGrace: TimeAmount? = nil,
        _ body: @Sendable @escaping (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, told) = AsyncStream<Int>.makeStream()
        let services = assembled.server(port: port, bodyGrace: bodyGrace, logger: logger) { channel in
            told.yield(channel.localAddress?.port ?? 0)
        }
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [], logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { told.finish() }
                try await group.run()
            }
            let outcome: Result<Value, any Error>
            do {
                var taken = ports.makeAsyncIterator()
                guard let port = await taken.next() else { throw TestSupportError("the server did not start") }
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
