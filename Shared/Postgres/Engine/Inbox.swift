import Locks

/// What other threads ask of the engine, taken over by it a batch at a time.
final class Inbox<Command: Sendable>: Sendable {
    private struct State {
        var commands: [Command] = []
        var isSleeping = false
        var isClosed = false
    }

    private let state = Lock(State())
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// Leaves a command; false if nobody will come for it.
    ///
    /// Only the first after the engine went to sleep wakes it.
    func post(_ command: Command) -> Bool {
        let (isOpen, wakes) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            defer { state.isSleeping = false }
            return (true, state.isSleeping)
        }
        if wakes { wake() }
        return isOpen
    }

    /// Takes everything, swapping the caller's emptied array in to be filled next.
    func take(into batch: inout [Command]) {
        state.withLock { state in
            state.isSleeping = false
            swap(&state.commands, &batch)
        }
    }

    /// Announces that the engine is about to sleep; false if there is something to do first.
    func sleepIfEmpty() -> Bool {
        state.withLock { state in
            state.isSleeping = state.commands.isEmpty
            return state.isSleeping
        }
    }

    /// Takes everything for the last time.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}
