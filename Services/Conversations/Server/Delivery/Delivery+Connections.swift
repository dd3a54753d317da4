import ConversationsAPI
import Credentials
import NIOCore
import Postgres
import Wire

// What sockets ask.
extension Delivery {
    /// Lets a socket hear what happens in all conversations of its user, from now until `detach`.
    ///
    /// Call it once the user is known and the socket may be sent to; when it returns, nothing that is committed from then
    /// on is missed. With `last` (the newest change that the client knows, by conversation) it is first told what it
    /// missed, as `messages/sync` events, and after these what happens, in order. Conversations that `last` does not name
    /// are new to the client: the event `chats/joined` comes before what happened in them.
    ///
    /// - Throws: `session_ended` where the session has ended meanwhile, `unavailable` while the database is away; then the
    ///   socket is not attached.
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
            // Looked at once it is registered: a session that ends after this finds it.
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

    /// The socket is closed; any number of times.
    ///
    /// With `successor`, a newer connection over the same socket, the socket stays in the conversations that both are in.
    func detach(_ connection: Connection, succeededBy successor: Connection? = nil) {
        guard let rooms = connections.remove(connection) else { return }
        for room in rooms { room.leave(connection, connections, succeededBy: successor) }
        devices.note(connection)
    }

    /// A session has ended: its sockets are closed.
    func end(session: String) {
        for connection in connections.of(session: session) { connection.socket.end() }
    }

    /// Says to the others in a conversation that somebody writes, once in three seconds.
    ///
    /// - Throws: `notFound` for who is not in it, `forbidden` where the other one of two has blocked him.
    func type(in conversation: Conversation.ID, by connection: Connection) async throws {
        guard connections.isIn(conversation, connection) else { throw Conversations.notFound }
        let typing = Typing(user: connection.user, conversation: conversation)
        guard !self.typing.isHeld(typing) else { return }
        let maySend = try await MemberHeadStore(db: database.reads).maySend(connection.user, in: conversation)
        guard let maySend else { throw Conversations.notFound }
        guard maySend else { throw Conversations.blocked }
        deliver(typing)
        changeNotifier.publish(.typing(conversation, connection.user))
    }

    /// Here, unless it was said a moment ago.
    func deliver(_ typing: Typing) {
        guard self.typing.passes(typing), let room = connections.room(typing.conversation) else { return }
        let own = room.connections.filter { $0.user == typing.user }.map(\.socket)
        rooms.emit(typing.event, to: typing.conversation, except: own)
    }
}

// How a connection comes into its rooms.
extension Delivery {
    private static let page = 1_000
    /// Conversations that are announced at once.
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
                guard let known = last?[head.conversation] else {
                    let unannounced = last == nil ? [head] : unknown.add(head)
                    for head in unannounced { try await enter(connection, head) }
                    continue
                }
                // Who knows all comes in as he is; but not behind a room that is further by now.
                if known != head.change || !join([connection], head) {
                    try await resume(connection, to: head.conversation, after: known, &budget)
                }
            }
            guard heads.count == Self.page, let next = heads.last else { break }
            lastRead = next.conversation
        }
        // Where he is no longer, there is nothing to go on from.
        for conversation in unmatched.sorted() { connection.socket.emit(CatchUp.resync(conversation)) }
        guard last != nil else { return }
        for head in unknown.cut() { try await enter(connection, head) }
        let announced = try await announce(unknown.heads, to: connection, &budget)
        connection.note(isComplete: announced && unknown.isComplete)
    }

    /// Announces conversations that the client does not know, and what happened in each since its user is a member.
    ///
    /// - Returns: whether there was room for all of them; the rest is entered without a word.
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
                // Without them the user is no member any more.
                guard let event = events[head.conversation], let before = headsBeforeJoin[head.conversation] else {
                    continue
                }
                // The client has to list its chats where one could not be read.
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

    /// As a member who knows the conversation up to a place, or reads it for himself.
    func enter(_ connection: Connection, _ head: ConversationHead) async throws {
        var head: ConversationHead? = head
        while let now = head, !join([connection], now) {
            head = try await MemberHeadStore(db: database.reads).head(of: connection.user, in: now.conversation)
        }
    }

    /// False: the room is ahead of what they know.
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

    /// First tells what was missed, then lets the connection in where that ends.
    func resume(
        _ connection: Connection,
        to conversation: Conversation.ID,
        after known: Int64,
        announcing announcement: DeliveryEvent? = nil,
        _ budget: inout CatchUp.Budget
    ) async throws {
        if let announcement {
            connection.socket.emit(announcement)
            budget.take(announcement.json.readableBytes)
        }
        let catchUp = CatchUp(connection: connection, conversation: conversation, known: known)
        let isAttached = try await sendMissed(catchUp, &budget, leaving: CatchUp.reservedPages)
        switch (isAttached, connections.room(conversation)) {
        case (true?, _): return
        case (nil, _): try await restart(catchUp)
        case (false?, nil): if try await sendMissed(catchUp, &budget) != true { try await restart(catchUp) }
        case (false?, let room?):
            // Much is said there. The room waits for the last of it, and so is not ahead again.
            let left = budget
            budget = try await queue.whilePaused(room) { [self] in
                var budget = left
                if try await sendMissed(catchUp, &budget) != true { try await restart(catchUp) }
                return budget
            }
        }
    }

    /// Page by page; true: it is in, false: there is more to tell, nil: there is nothing to go on from.
    private func sendMissed(
        _ catchUp: CatchUp,
        _ budget: inout CatchUp.Budget,
        leaving pages: Int = 0
    ) async throws -> Bool? {
        while budget.allows(catchUp.conversation, leaving: pages) {
            let missed = try await sync.missed(
                in: catchUp.conversation,
                by: catchUp.connection.user,
                after: catchUp.known
            )
            guard let missed, case .missed(let changes) = missed.changes else { return nil }
            if changes.change > catchUp.known {
                let event = try CatchUp.event(changes, in: catchUp.conversation)
                budget.spend(event.json.readableBytes)
                catchUp.connection.socket.emit(event)
                catchUp.known = changes.change
            }
            guard changes.more else {
                return join([catchUp.connection], missed.head)
            }
            // Where the room is not as far, it may be gone on from there.
            let room = connections.room(catchUp.conversation)
            if room?.join([catchUp.connection], after: catchUp.known, connections) == .joined { return true }
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
