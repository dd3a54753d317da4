import Synchronization

/// Wakes work that waits: at a ring, or when it has waited for long enough.
///
/// A ring that nobody waits for is heard by the next who does, so that none is lost between a look and the wait.
final class Bell: Sendable {
    private struct State {
        var isRung = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func ring() {
        let waiting = state.withLock { state in
            state.isRung = state.waiting.isEmpty
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns at once in a cancelled task.
    func wait(atMost pause: Duration) async {
        let timer = Task {
            do { try await Task.sleep(for: pause) } catch { return }
            ring()
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !state.isRung, !Task.isCancelled else {
                        state.isRung = false
                        return true
                    }
                    state.waiting.append(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
