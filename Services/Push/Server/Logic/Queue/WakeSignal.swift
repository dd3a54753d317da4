import Locks
import Logging
import ServiceLifecycle

/// Wakes work that waits: at a ring, or when it has waited for long enough.
///
/// A ring that nobody waits for is heard by the next who does, so that none is lost between a look and the wait.
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

    /// Returns at once in a cancelled task.
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

    /// Makes rounds until the service is told to stop: one after another while there is something to do, else one at each
    /// ring, or when it was quiet for long enough to look.
    ///
    /// A round that has begun is finished. After one that failed there is a rest, so that a database that is down is not
    /// asked all the time.
    ///
    /// - Parameters:
    ///   - logger: hears of failures.
    ///   - failure: what it hears.
    ///   - round: returns how much it did; 0 where there was nothing.
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
                // Cut short at shutdown, which the loop sees.
                await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.errorDelay) }
            }
        }
    }
}
