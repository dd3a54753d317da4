import ConversationsAPI
import DequeModule
import Locks
import Logging
import Metrics
import ServiceHost
import Synchronization
import Wire

/// The queue of rooms with new changes, and the few workers that read and deliver the changes.
///
/// At most one worker processes a room. All notifications that arrive meanwhile cause only one more read. A message is
/// delivered from memory, without a read, if this instance wrote it and it follows the last delivered change.
final class DeliveryQueue: Sendable {
    private struct State {
        var rooms: Deque<Room> = []
        var workers = 0
        var isStopped = false
        /// The number of successive failures to read the backlog of a conversation.
        var failures: [Conversation.ID: Int] = [:]
    }

    /// The number of concurrent reads, and the maximum number of rooms in one read.
    private static let workers = 2
    private static let batch = 16

    private let store: RoomBacklogStore
    private let encoder: RoomEventEncoder
    private let announcer: ChatAnnouncer
    private let rooms: any DeliveryRooms
    private let connections: Connections
    private let setAside: SetAside
    private let logger: Logger
    private let state = Lock(State())
    let readings = Atomic<Int>(0)
    private let delivered = Counter(label: "roost_conversations_delivered_events_total")
    private let reads = Counter(label: "roost_conversations_delivery_reads_total")
    private let failures = Counter(label: "roost_conversations_delivery_failures_total")

    init(
        store: RoomBacklogStore,
        encoder: RoomEventEncoder,
        announcer: ChatAnnouncer,
        rooms: any DeliveryRooms,
        connections: Connections,
        setAside: SetAside,
        logger: Logger
    ) {
        self.store = store
        self.encoder = encoder
        self.announcer = announcer
        self.rooms = rooms
        self.connections = connections
        self.setAside = setAside
        self.logger = logger
    }

    /// Queues rooms whose `notify`, `appendWritten` or `runExclusively` returned true.
    func add(_ rooms: some Collection<Room>) {
        guard !rooms.isEmpty else { return }
        let starts = state.withLock { state -> Int? in
            guard !state.isStopped else { return nil }
            state.rooms.append(contentsOf: rooms)
            let wanted = min(Self.workers - state.workers, state.rooms.count)
            state.workers += wanted
            return wanted
        }
        guard let starts else { return cancelTasks(rooms) }
        // Detached: a worker serves all requests, so it must not continue the trace of one.
        for _ in 0..<starts { Task.detached { await self.work() } }
    }

    /// Stops the queue; undelivered changes remain in the database.
    func stop() {
        let rooms = state.withLock { state in
            state.isStopped = true
            defer { state.rooms = [] }
            return state.rooms
        }
        cancelTasks(rooms)
    }

    /// Runs `body` between two events of a room, while the room delivers nothing.
    ///
    /// - Throws: the error of `body`; `unavailable` when the instance stops.
    func whilePaused<Value: Sendable>(
        _ room: Room,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let mustRun = room.runExclusively { isHeld in
                do {
                    guard isHeld else { throw APIError.unavailable("the instance") }
                    continuation.resume(returning: try await body())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            if mustRun { add([room]) }
        }
    }

    /// Cancels the tasks of rooms that no worker will process.
    private func cancelTasks(_ rooms: some Collection<Room>) {
        for task in rooms.flatMap({ $0.takeExclusiveTasks() }) { Task.detached { await task(false) } }
    }

    private func work() async {
        var pause = Duration.milliseconds(20)
        while let batch = next() {
            for room in batch { for task in room.takeExclusiveTasks() { await task(true) } }
            let rooms = batch.filter(deliverWritten)
            guard !rooms.isEmpty else { continue }
            let waiting = await readAndDeliver(rooms)
            guard !waiting.isEmpty else {
                pause = .milliseconds(20)
                continue
            }
            // No event is lost: the rooms wait for the database.
            try? await ContinuousClock().sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
            for room in waiting { room.fail() }
            putBack(waiting)
        }
    }

    /// Reads backlogs and delivers them; returns the rooms that could not be read because the database is unavailable.
    ///
    /// When any of several rooms may be the cause of a failure, each is read separately. A room that fails alone is
    /// read again later, and no other room waits for it.
    private func readAndDeliver(_ rooms: [Room]) async -> [Room] {
        do {
            reads.increment()
            readings.add(1, ordering: .relaxed)
            let found = try await read(rooms)
            forgetFailures(of: rooms.filter { found.failures[$0.conversation] == nil })
            for room in rooms {
                if let error = found.failures[room.conversation] {
                    delay(room, error)
                } else {
                    deliver(found.backlog[room.conversation], in: room, found.announcements[room.conversation] ?? [:])
                }
            }
            // The error is ignored: the unreadable messages are left out even if this record cannot be written.
            try? await setAside.failed(found.unreadable, of: .message)
            return []
        } catch {
            let isOfRoom = FailedRow([], error) != nil
            if isOfRoom, rooms.count == 1 {
                delay(rooms[0], error)
                return []
            }
            failures.increment()
            logger.warning("cannot read backlogs", metadata: ["error": "\(error)", "rooms": "\(rooms.count)"])
            guard isOfRoom else { return rooms }
            var waiting: [Room] = []
            for room in rooms { waiting += await readAndDeliver([room]) }
            return waiting
        }
    }

    /// Queues a room again after 20 ms, then after twice as long each time, at most 5 s.
    private func delay(_ room: Room, _ error: any Error) {
        failures.increment()
        let count = state.withLock { state in
            state.failures[room.conversation, default: 0] += 1
            return state.failures[room.conversation] ?? 1
        }
        logger.warning(
            "cannot read backlog of conversation",
            metadata: ["conversation": "\(room.conversation)", "error": "\(error)", "attempts": "\(count)"]
        )
        Task.detached {
            try? await ContinuousClock().sleep(for: .milliseconds(min(20 << min(count - 1, 8), 5_000)))
            room.fail()
            self.add([room])
        }
    }

    private func forgetFailures(of rooms: [Room]) {
        state.withLock { state in
            guard !state.failures.isEmpty else { return }
            for room in rooms { state.failures[room.conversation] = nil }
        }
    }

    /// Returns the next rooms; nil if the queue is empty, which ends the worker.
    private func next() -> [Room]? {
        state.withLock { state in
            var count = min(Self.batch, state.rooms.count)
            if !state.failures.isEmpty {
                // A room that failed is read separately, so that its next failure delays no other room of the batch.
                let failing = state.rooms.prefix(count).firstIndex { state.failures[$0.conversation] != nil }
                if let failing { count = max(failing, 1) }
            }
            let batch = Array(state.rooms.prefix(count))
            state.rooms.removeFirst(batch.count)
            if batch.isEmpty { state.workers -= 1 }
            return batch.isEmpty ? nil : batch
        }
    }

    /// Delivers messages that this instance wrote, from memory.
    ///
    /// - Returns: whether the room has more changes, which must be read from the database.
    private func deliverWritten(in room: Room) -> Bool {
        let (written, mustRead) = room.dequeueWritten()
        if let last = written.last {
            let encoded = written.map(encoder.encode)
            room.deliver(encoded, upTo: last.outcome.change, to: rooms, connections)
            delivered.increment(by: encoded.count)
        }
        if !mustRead {
            forgetFailures(of: [room])
            release(room, hasMore: false)
        }
        return mustRead
    }

    /// Reads the backlogs of all rooms, before any event is sent.
    ///
    /// A conversation with neither backlog nor failure was deleted.
    private func read(_ rooms: [Room]) async throws -> RoomBacklogs {
        let positions = rooms.map(\.delivered)
        var found = try await store.backlog(zip(rooms, positions).map { ($0.conversation, $1.change) })
        for (room, position) in zip(rooms, positions) {
            guard let backlog = found.backlog[room.conversation] else { continue }
            let missing = backlog.missing(after: position.seq)
            guard !missing.isEmpty else { continue }
            let more = try await store.messages(missing, in: room.conversation, backlog.marks)
            found.backlog[room.conversation]?.messages += more.values
            found.unreadable += more.unreadable
        }
        for (room, position) in zip(rooms, positions) {
            let users = found.backlog[room.conversation].map { joining(by: $0, after: position.seq, in: room) } ?? []
            guard !users.isEmpty else { continue }
            var announcements = try await announcer.announcements(to: users, in: room.conversation)
            // A user who has left meanwhile joins the room without the announcement, and leaves it at the message
            // about the leaving.
            for user in users where announcements[user] == nil { announcements.updateValue(nil, forKey: user) }
            found.announcements[room.conversation] = announcements
        }
        return found
    }

    /// Returns the users who become members by messages after `seq` and have a connection at this instance.
    private func joining(by backlog: RoomBacklog, after seq: Int64, in room: Room) -> [User.ID] {
        backlog.messages.compactMap { entry in
            guard entry.message.seq > seq, case .joined(let name)? = SystemEvent.Membership(entry.message) else {
                return nil
            }
            let user = User.ID(application: room.application, user: name)
            return connections.isConnected(user) ? user : nil
        }
    }

    private func deliver(_ backlog: RoomBacklog?, in room: Room, _ announcements: Announcements) {
        guard let backlog else {
            room.close(connections)
            // Tasks that were added meanwhile still run, and find the room closed.
            return release(room, hasMore: false)
        }
        let encoded = backlog.events(after: room.delivered.seq).map { encoder.encode($0, in: room) }
        room.deliver(encoded, upTo: backlog.change, announcing: announcements, to: rooms, connections)
        delivered.increment(by: encoded.count)
        release(room, hasMore: backlog.hasMore)
    }

    private func release(_ room: Room, hasMore: Bool) {
        if room.release(hasMore: hasMore) { putBack([room]) }
    }

    private func putBack(_ rooms: [Room]) {
        let isTaken = state.withLock { state in
            if !state.isStopped { state.rooms.append(contentsOf: rooms) }
            return !state.isStopped
        }
        if !isTaken { cancelTasks(rooms) }
    }
}
