import Locks
import NIOCore

/// A queue of one socket's asynchronous calls, run one at a time.
final class CallQueue: Sendable {
    typealias Call = @Sendable () async -> Void

    private struct State {
        var waiting = CircularBuffer<Call>(initialCapacity: 1)
        var isRunning = false
        var isHolding = false
    }

    private let connection: EngineConnection
    private let limit: Int
    private let state = Lock(State())

    init(connection: EngineConnection, limit: Int) {
        self.connection = connection
        self.limit = limit
    }

    func append(_ call: @escaping Call) {
        let (starts, holds) = state.withLock { state in
            state.waiting.append(call)
            let holds = !state.isHolding && state.waiting.count >= limit
            if holds { state.isHolding = true }
            defer { state.isRunning = true }
            return (!state.isRunning, holds)
        }
        if holds { connection.loop.perform { self.connection.holdReading() } }
        if starts { Task { await run() } }
    }

    private func run() async {
        while let call = next() { await call() }
    }

    private func next() -> Call? {
        let (call, releases) = state.withLock { state in
            guard let call = state.waiting.popFirst() else {
                state.isRunning = false
                return (nil as Call?, false)
            }
            // Resumes at half the limit, to avoid a switch on every call.
            let releases = state.isHolding && state.waiting.count <= limit / 2
            if releases { state.isHolding = false }
            return (call, releases)
        }
        if releases { connection.loop.perform { self.connection.releaseReading() } }
        return call
    }
}
