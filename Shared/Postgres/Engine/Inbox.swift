import Locks

/// The queue of commands from other threads, drained in batches by the engine.
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

    /// Enqueues a command; returns false if the inbox is closed.
    ///
    /// Only the first command after the engine went to sleep wakes the engine.
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

    /// Moves all commands into `batch`, whose empty storage is reused for the next commands.
    func drain(into batch: inout [Command]) {
        state.withLock { state in
            state.isSleeping = false
            swap(&state.commands, &batch)
        }
    }

    /// Marks the engine as sleeping; returns false if commands are waiting.
    func sleepIfEmpty() -> Bool {
        state.withLock { state in
            state.isSleeping = state.commands.isEmpty
            return state.isSleeping
        }
    }

    /// Closes the inbox and returns the remaining commands.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}
