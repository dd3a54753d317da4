import NIOCore
import Synchronization

/// What the connections of one event loop share: their deadlines, their rooms, the end of a tick.
///
/// Everything but the mail is touched on the loop alone, which makes the unchecked claim true.
final class EngineLoop: @unchecked Sendable {
    /// What other threads want to have done here, in the order they said it.
    enum Letter: Sendable {
        case broadcast(OutgoingPacket, SocketBroadcast)
        case work(@Sendable () -> Void)
    }

    private struct Mail: Sendable {
        var letters: [Letter] = []
        var isAnnounced = false
    }

    let eventLoop: any EventLoop
    let wheel: TimerWheel
    private let mail = Mutex(Mail())
    private let hasMail = Atomic(false)
    private var isReading = false

    private var namespaces: [NamespaceOnLoop] = []
    /// What is being said to a room.
    var tick: RoomTick?
    var serial: UInt64 = 0
    private var dirty: ContiguousArray<EngineConnection> = []
    private var isTickScheduled = false

    init(eventLoop: any EventLoop, step: TimeAmount) {
        self.eventLoop = eventLoop
        wheel = TimerWheel(eventLoop: eventLoop, step: step)
    }

    func state(of namespace: Namespace) -> NamespaceOnLoop {
        while namespaces.count <= namespace.index { namespaces.append(NamespaceOnLoop()) }
        return namespaces[namespace.index]
    }

    // MARK: From other threads

    /// Has something done here: now, if this is the loop's thread.
    func send(_ letter: Letter) {
        if eventLoop.inEventLoop {
            // What others said before comes first.
            readMail()
            read(letter)
            return
        }
        let isFirst = mail.withLock { mail in
            mail.letters.append(letter)
            defer { mail.isAnnounced = true }
            return !mail.isAnnounced
        }
        hasMail.store(true, ordering: .releasing)
        if isFirst { eventLoop.execute { self.readMail() } }
    }

    func perform(_ work: @escaping @Sendable () -> Void) {
        send(.work(work))
    }

    func readMail() {
        // What a letter has done is done before the next letter is read.
        guard !isReading, hasMail.exchange(false, ordering: .acquiringAndReleasing) else { return }
        isReading = true
        defer { isReading = false }
        let letters = mail.withLock { mail in
            mail.isAnnounced = false
            let letters = mail.letters
            mail.letters = []
            return letters
        }
        for letter in letters { read(letter) }
    }

    private func read(_ letter: Letter) {
        switch letter {
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
        handOut()
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
