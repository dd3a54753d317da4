package import Logging
import ServiceLifecycle

/// Background work that comes round again: at the start, and then after each pause, until the service is shut down.
///
/// A round that fails is logged, and the next one comes all the same.
package struct PeriodicTask: Service {
    private let name: String
    private let pause: Duration
    private let logger: Logger
    private let round: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - name: what the log calls the work, in lower case.
    ///   - pause: the time from the end of one round to the beginning of the next.
    ///   - logger: hears of rounds that fail.
    ///   - round: the work.
    package init(
        _ name: String,
        every pause: Duration,
        logger: Logger,
        _ round: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        self.pause = pause
        self.logger = logger
        self.round = round
    }

    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await round()
                    try await Task.sleep(for: pause)
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("background work failed", metadata: ["work": "\(name)", "error": "\(error)"])
                    // Cancelled in its sleep it is at an end, and the condition above says so.
                    try? await Task.sleep(for: pause)
                }
            }
        }
    }
}
