import Locks
import Logging
import ServiceLifecycle

/// Wakes a waiting worker, at a signal or after a timeout.
///
/// A signal without a waiter is kept for the next waiter, so that none is lost between a poll and the wait.
final class WakeSignal: Sendable {
    private struct State {
        var isSet = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let idleInterval: Duration = .milliseconds(200)
    private static let errorDelay: Duration = .seconds(1)

    private let state = Lock(State())

    func wake() {
        let waiting = state.withLock { state in
            state.isSet = state.waiting.isEmpty
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for a signal; returns immediately in a cancelled task.
    func wait(atMost pause: Duration) async {
        let timer = Task {
            do { try await Task.sleep(for: pause) } catch { return }
            wake()
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !state.isSet, !Task.isCancelled else {
                        state.isSet = false
                        return true
                    }
                    state.waiting.append(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    /// Runs batches until shutdown: continuously while there is work, else at each signal or after 200 ms.
    ///
    /// A running batch is completed. After an error the loop pauses for 1 s, which protects a database that is down.
    ///
    /// - Parameters:
    ///   - logger: receives the failures.
    ///   - failure: the log message of a failure.
    ///   - processBatch: returns the number of processed rows; 0 if there is no work.
    func runUntilShutdown(
        _ logger: Logger,
        _ failure: Logger.Message,
        _ processBatch: @Sendable () async throws -> Int
    ) async {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            do {
                if try await processBatch() > 0 { continue }
                await cancelWhenGracefulShutdown { await self.wait(atMost: Self.idleInterval) }
            } catch {
                logger.warning(failure, metadata: ["error": "\(error)"])
                // Shutdown interrupts the sleep; the loop then ends.
                await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.errorDelay) }
            }
        }
    }
}
