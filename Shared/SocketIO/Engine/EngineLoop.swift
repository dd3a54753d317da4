import Locks
import NIOCore
import Synchronization

/// What the connections of one event loop share: their deadlines, their rooms, the end of a tick.
///
/// Everything but the mail is touched on the loop alone, which makes the unchecked claim true.
final class EngineLoop: @unchecked Sendable {
    /// What other threads want to have done here, in the order they said it.
    enum LoopCommand: Sendable {
        case broadcast(OutgoingPacket, SocketBroadcast)
        case work(@Sendable () -> Void)
    }

    private struct CommandQueue: Sendable {
        var commands: [LoopCommand] = []
        var isScheduled = false
    }

    let eventLoop: any EventLoop
    let wheel: TimerWheel
    private let commandQueue = Lock(CommandQueue())
    private let hasCommands = Atomic(false)
    /// Letters taken from the mail, and those sent by the loop's own thread while it was busy.
    private var pending = CircularBuffer<LoopCommand>(initialCapacity: 0)
    /// How many calls of ``exclusively(_:)`` are on the stack.
    private var depth = 0

    private var namespaces: [EventLoopNamespace] = []
    /// What is being said to a room.
    var tick: RoomTick?
    var serial: UInt64 = 0
    private var dirty: ContiguousArray<EngineConnection> = []
    private var isTickScheduled = false

    init(eventLoop: any EventLoop, step: TimeAmount) {
        self.eventLoop = eventLoop
        wheel = TimerWheel(eventLoop: eventLoop, step: step)
    }

    func state(of namespace: Namespace) -> EventLoopNamespace {
        while namespaces.count <= namespace.index { namespaces.append(EventLoopNamespace()) }
        return namespaces[namespace.index]
    }

    // MARK: Letters

    /// Does something here after everything that was sent before: now, if this is the loop's thread and it is not busy.
    func send(_ command: LoopCommand) {
        Locks.assertNoneHeld("send to an event loop")
        if eventLoop.inEventLoop {
            takeCommands()
            pending.append(command)
            runCommands()
            return
        }
        let isFirst = commandQueue.withLock { commandQueue in
            commandQueue.commands.append(command)
            defer { commandQueue.isScheduled = true }
            return !commandQueue.isScheduled
        }
        hasCommands.store(true, ordering: .releasing)
        if isFirst { eventLoop.execute { self.runCommands() } }
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        send(.work(work))
    }

    /// Whether every letter that was sent until now has been read.
    var isUpToDate: Bool { pending.isEmpty && !hasCommands.load(ordering: .acquiring) }

    /// Runs work of the engine or a callback of the application; letters that arrive meanwhile are read after it.
    ///
    /// So a callback never runs inside another callback, nor while a connection is half changed.
    func exclusively<Result>(_ body: () -> Result) -> Result {
        Locks.assertNoneHeld("call back from an event loop")
        depth += 1
        let result = body()
        depth -= 1
        runCommands()
        return result
    }

    private func runCommands() {
        guard depth == 0, !isUpToDate else { return }
        depth = 1
        defer { depth = 0 }
        takeCommands()
        while let command = pending.popFirst() { read(command) }
    }

    private func takeCommands() {
        guard hasCommands.load(ordering: .acquiring) else { return }
        hasCommands.store(false, ordering: .relaxed)
        pending += commandQueue.withLock { commandQueue in
            commandQueue.isScheduled = false
            let commands = commandQueue.commands
            commandQueue.commands = []
            return commands
        }
    }

    private func read(_ command: LoopCommand) {
        switch command {
        case .broadcast(let packet, let target): broadcast(packet, to: target)
        case .work(let work): work()
        }
    }

    // MARK: The end of a tick

    /// Has a connection written to at the end of the tick.
    func markDirty(_ connection: EngineConnection) {
        dirty.append(connection)
        scheduleTick()
    }

    /// The loop runs what was given to it once it has read all that was ready, so that is when a tick ends.
    func scheduleTick() {
        guard !isTickScheduled else { return }
        isTickScheduled = true
        eventLoop.assumeIsolated().execute { self.endTick() }
    }

    func endTick() {
        isTickScheduled = false
        exclusively {
            flushRooms()
            flush()
        }
    }

    private func flush() {
        while !dirty.isEmpty {
            var connections = ContiguousArray<EngineConnection>()
            swap(&connections, &dirty)
            for connection in connections { connection.flush() }
            if dirty.isEmpty {
                // The room is kept for the next tick.
                connections.removeAll(keepingCapacity: true)
                swap(&connections, &dirty)
                return
            }
        }
    }
}
