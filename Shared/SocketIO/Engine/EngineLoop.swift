import Locks
import NIOCore
import Synchronization

/// The state shared by the connections of one event loop: deadlines, rooms, and the tick's pending writes.
///
/// Only the command queue is used from other threads, and it has a lock. Everything else is used on the loop, which
/// makes the unchecked conformance correct.
final class EngineLoop: @unchecked Sendable {
    /// A call from any thread, run in the order of the calls.
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
    /// Commands moved from the queue, and commands sent on the loop's own thread while it was busy.
    private var pending = CircularBuffer<LoopCommand>(initialCapacity: 0)
    /// The number of nested calls of ``exclusively(_:)``.
    private var depth = 0

    private var namespaces: [EventLoopNamespace] = []
    /// The frames of the current tick for one room.
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

    // MARK: Commands

    /// Runs a command after all commands sent before; immediately if the caller is on the idle loop's thread.
    func send(_ command: LoopCommand) {
        Locks.assertNoneHeld("send to an event loop")
        if eventLoop.inEventLoop {
            dequeueCommands()
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

    /// Whether all commands sent so far have run.
    var isUpToDate: Bool { pending.isEmpty && !hasCommands.load(ordering: .acquiring) }

    /// Runs engine work or an application callback; commands that arrive meanwhile run after it.
    ///
    /// Therefore a callback never runs inside another callback, nor while a connection is in an intermediate state.
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
        dequeueCommands()
        while let command = pending.popFirst() { read(command) }
    }

    private func dequeueCommands() {
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

    /// Schedules a flush of the connection at the end of the tick.
    func markDirty(_ connection: EngineConnection) {
        dirty.append(connection)
        scheduleTick()
    }

    /// Ends the tick after the loop has read all ready channels; the loop runs submitted tasks then.
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
                // Reuses the array's capacity in the next tick.
                connections.removeAll(keepingCapacity: true)
                swap(&connections, &dirty)
                return
            }
        }
    }
}
