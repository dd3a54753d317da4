import Synchronization

/// A semaphore that suspends tasks in order of arrival.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    package init(capacity: Int) {
        state = Mutex(State(free: capacity))
    }

    package func enter() async throws {
        try Task.checkCancellation()
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    package func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
