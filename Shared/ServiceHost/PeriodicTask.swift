package import Logging
import ServiceLifecycle

/// Background work that runs at the start and then after each pause, until the service is shut down.
///
/// A failed run is logged and does not affect the next one.
package struct PeriodicTask: Service {
    private let name: String
    private let pause: Duration
    private let logger: Logger
    private let round: @Sendable () async throws -> Void

    /// Creates a periodic task.
    ///
    /// - Parameters:
    ///   - name: the name of the work in the log, in lower case.
    ///   - pause: the time from the end of a run to the start of the next one.
    ///   - logger: receives failures.
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
                    // Cancellation ends the sleep; the loop's condition then ends the loop.
                    try? await Task.sleep(for: pause)
                }
            }
        }
    }
}
