import ConversationsAPI
import Credentials
import NIOCore
import Postgres
import Wire

// The requests of sockets.
extension Delivery {
    /// Delivers the events in all conversations of a user to a socket, from now until `detach`.
    ///
    /// Call it once the user is verified and the socket accepts events. No change that is committed after it returns is
    /// missed. `last` is the newest change that the client has, by conversation. With it, the socket first receives
    /// missed changes as `messages/sync` events, and then new events, in order. Conversations that `last` does not name
    /// are new to the client: the event `chats/joined` precedes their events.
    ///
    /// - Throws: `session_ended` when the session has ended meanwhile, `unavailable` while the database is unavailable.
    ///   The socket is then not attached.
    func attach(
        _ socket: any DeliverySocket,
        user: User.ID,
        device: String,
        session: String,
        last: [Conversation.ID: Int64]? = nil,
        replacing former: Connection? = nil
    ) async throws -> Connection {
        let connection = Connection(
            user: user,
            device: device,
            session: session,
            socket: socket,
            among: connections
        )
        connections.add(connection)
        defer { connections.finishAttaching() }
        do {
            // Checked after the registration: a session that ends later finds the connection.
            guard !hasEnded(session) else { throw APIError.sessionEnded }
            try await enterAll(connection, after: last)
            try await admitDeferred(connection)
        } catch {
            detach(connection, succeededBy: former)
            throw error
        }
        devices.note(connection)
        return connection
    }

    /// Detaches a closed socket; may be called any number of times.
    ///
    /// With `successor`, a newer connection over the same socket, the socket stays in the conversations that both are
    /// in.
    func detach(_ connection: Connection, succeededBy successor: Connection? = nil) {
        guard let rooms = connections.remove(connection) else { return }
        for room in rooms { room.leave(connection, connections, succeededBy: successor) }
        devices.note(connection)
    }

    /// Closes the sockets of a session that has ended.
    func end(session: String) {
        for connection in connections.of(session: session) { connection.socket.end() }
    }
}

// How a connection enters its rooms.
extension Delivery {
    private static let page = 1_000
    /// The number of conversations that are announced at once.
    private static let announced = 25

    private func enterAll(_ connection: Connection, after last: [Conversation.ID: Int64]?) async throws {
        var unmatched = Set((last ?? [:]).keys)
        var unknown = UnknownConversations()
        var budget = CatchUp.Budget()
        var lastRead = Conversation.ID(0)
        while true {
            let heads = try await MemberHeadStore(db: database.reads)
                .heads(of: connection.user, after: lastRead, limit: Self.page)
            for head in heads {
                unmatched.remove(head.conversation)
                guard let clientChange = last?[head.conversation] else {
                    let unannounced = last == nil ? [head] : unknown.add(head)
                    for head in unannounced { try await enter(connection, head) }
                    continue
                }
                // A client that has all changes joins directly, unless the room is ahead by now.
                if clientChange != head.change || !join([connection], head) {
                    try await resume(connection, to: head.conversation, after: clientChange, &budget)
                }
            }
            guard heads.count == Self.page, let next = heads.last else { break }
            lastRead = next.conversation
        }
        // The user has left these conversations, so no catch-up is possible.
        for conversation in unmatched.sorted() { connection.socket.emit(CatchUp.resync(conversation)) }
        guard last != nil else { return }
        for head in unknown.cut() { try await enter(connection, head) }
        let announced = try await announce(unknown.heads, to: connection, &budget)
        connection.note(isComplete: announced && unknown.isComplete)
    }

    /// Announces conversations that the client does not have, and the events in each since the user joined it.
    ///
    /// - Returns: whether the budget sufficed for all of them; the rest is entered without an announcement.
    private func announce(
        _ heads: [ConversationHead],
        to connection: Connection,
        _ budget: inout CatchUp.Budget
    ) async throws -> Bool {
        var isComplete = true
        for start in stride(from: 0, to: heads.count, by: Self.announced) {
            let part = heads[start..<min(start + Self.announced, heads.count)]
            guard budget.isLeft else {
                isComplete = false
                for head in part { try await enter(connection, head) }
                continue
            }
            let ids = part.map(\.conversation)
            let events = try await announcer.announcements(to: connection.user, in: ids)
            let headsBeforeJoin = try await MemberHeadStore(db: database.reads).headsBeforeJoin(
                of: connection.user,
                in: ids
            )
            for head in part {
                // Without both, the user is no longer a member.
                guard let event = events[head.conversation], let before = headsBeforeJoin[head.conversation] else {
                    continue
                }
                // The client has to list its chats when one could not be read.
                if event == nil { isComplete = false }
                let announcements: Announcements = [connection.user: event]
                if before.change != head.change || !join([connection], head, announcing: announcements) {
                    try await resume(
                        connection,
                        to: head.conversation,
                        after: before.change,
                        announcing: event,
                        &budget
                    )
                }
            }
        }
        return isComplete
    }

    /// Enters a conversation after `head`, for a client that has the earlier changes or reads them itself.
    func enter(_ connection: Connection, _ head: ConversationHead) async throws {
        var head: ConversationHead? = head
        while let now = head, !join([connection], now) {
            head = try await MemberHeadStore(db: database.reads).head(of: connection.user, in: now.conversation)
        }
    }

    /// Returns false when the room is ahead of `head`.
    func join(_ entering: [Connection], _ head: ConversationHead, announcing announcements: Announcements = [:]) -> Bool
    {
        while let first = entering.first {
            let (room, missedChange) = connections.open(head.conversation) {
                Room(head.conversation, of: first.user.application, change: head.change, seq: head.seq)
            }
            switch room.join(entering, after: head.change, connections, announcing: announcements) {
            case .isClosed: continue
            case .isAhead: return false
            case .joined:
                if let missedChange, room.notify(missedChange) { queue.add([room]) }
                return true
            }
        }
        return true
    }

    /// Sends missed changes, then enters the room where they end.
    func resume(
        _ connection: Connection,
        to conversation: Conversation.ID,
        after lastChange: Int64,
        announcing announcement: DeliveryEvent? = nil,
        _ budget: inout CatchUp.Budget
    ) async throws {
        if let announcement {
            connection.socket.emit(announcement)
            budget.charge(announcement.json.readableBytes)
        }
        let catchUp = CatchUp(connection: connection, conversation: conversation, lastChange: lastChange)
        let isAttached = try await sendMissed(catchUp, &budget, leaving: CatchUp.reservedPages)
        switch (isAttached, connections.room(conversation)) {
        case (true?, _): return
        case (nil, _): try await restart(catchUp)
        case (false?, nil): if try await sendMissed(catchUp, &budget) != true { try await restart(catchUp) }
        case (false?, let room?):
            // The conversation is busy. The room waits for the last pages, so it cannot be ahead again.
            let left = budget
            budget = try await queue.whilePaused(room) { [self] in
                var budget = left
                if try await sendMissed(catchUp, &budget) != true { try await restart(catchUp) }
                return budget
            }
        }
    }

    /// Sends missed pages; returns true when it has entered, false when pages are left, nil when no catch-up is
    /// possible.
    private func sendMissed(
        _ catchUp: CatchUp,
        _ budget: inout CatchUp.Budget,
        leaving pages: Int = 0
    ) async throws -> Bool? {
        while budget.allows(catchUp.conversation, leaving: pages) {
            let missed = try await sync.missed(
                in: catchUp.conversation,
                by: catchUp.connection.user,
                after: catchUp.lastChange
            )
            guard let missed, case .missed(let changes) = missed.changes else { return nil }
            if changes.change > catchUp.lastChange {
                let event = try CatchUp.event(changes, in: catchUp.conversation)
                budget.spend(event.json.readableBytes)
                catchUp.connection.socket.emit(event)
                catchUp.lastChange = changes.change
            }
            guard changes.more else {
                return join([catchUp.connection], missed.head)
            }
            // A room that is not ahead of the last page delivers the rest itself.
            let room = connections.room(catchUp.conversation)
            if room?.join([catchUp.connection], after: catchUp.lastChange, connections) == .joined { return true }
        }
        return false
    }

    private func restart(_ catchUp: CatchUp) async throws {
        catchUp.connection.socket.emit(CatchUp.resync(catchUp.conversation))
        let head = try await MemberHeadStore(db: database.reads).head(
            of: catchUp.connection.user,
            in: catchUp.conversation
        )
        if let head { try await enter(catchUp.connection, head) }
    }
}
