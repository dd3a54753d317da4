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
        defer { connections.settle() }
        do {
            // Looked at once it is registered: a session that ends after this finds it.
            guard !hasEnded(session) else { throw APIError.sessionEnded }
            try await enterAll(connection, knowing: last)
            try await welcomePutOff(connection)
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
        let isHeard = try await PlaceStore(db: database.reads).isHeard(connection.user, in: conversation)
        guard let isHeard else { throw Conversations.notFound }
        guard isHeard else { throw Conversations.blocked }
        tell(typing)
        doorbell.publish(.typing(conversation, connection.user))
    }

    /// Here, unless it was said a moment ago.
    func tell(_ typing: Typing) {
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

    private func enterAll(_ connection: Connection, knowing last: [Conversation.ID: Int64]?) async throws {
        var unmet = Set((last ?? [:]).keys)
        var unknown = UnknownPlaces()
        var budget = ComingBack.Budget()
        var behind = Conversation.ID(0)
        while true {
            let places = try await PlaceStore(db: database.reads)
                .places(of: connection.user, after: behind, limit: Self.page)
            for place in places {
                unmet.remove(place.conversation)
                guard let known = last?[place.conversation] else {
                    let silent = last == nil ? [place] : unknown.add(place)
                    for place in silent { try await enter(connection, place) }
                    continue
                }
                // Who knows all comes in as he is; but not behind a room that is further by now.
                if known != place.change || !join([connection], place) {
                    try await comeBack(connection, to: place.conversation, knowing: known, &budget)
                }
            }
            guard places.count == Self.page, let next = places.last else { break }
            behind = next.conversation
        }
        // Where he is no longer, there is nothing to go on from.
        for conversation in unmet.sorted() { connection.socket.emit(ComingBack.resync(conversation)) }
        guard last != nil else { return }
        for place in unknown.cut() { try await enter(connection, place) }
        let announced = try await announce(unknown.places, to: connection, &budget)
        connection.note(knowsAll: announced && unknown.isComplete)
    }

    /// Announces conversations that the client does not know, and what happened in each since its user is a member.
    ///
    /// - Returns: whether there was room for all of them; the rest is entered without a word.
    private func announce(
        _ places: [Place],
        to connection: Connection,
        _ budget: inout ComingBack.Budget
    ) async throws -> Bool {
        var isComplete = true
        for start in stride(from: 0, to: places.count, by: Self.announced) {
            let part = places[start..<min(start + Self.announced, places.count)]
            guard budget.isLeft else {
                isComplete = false
                for place in part { try await enter(connection, place) }
                continue
            }
            let ids = part.map(\.conversation)
            let events = try await announcer.announcements(to: connection.user, in: ids)
            let beginnings = try await PlaceStore(db: database.reads).beginnings(of: connection.user, in: ids)
            for place in part {
                // Without them the user is no member any more.
                guard let event = events[place.conversation], let before = beginnings[place.conversation] else {
                    continue
                }
                // The client has to list its chats where one could not be read.
                if event == nil { isComplete = false }
                let announcements: Announcements = [connection.user: event]
                if before.change != place.change || !join([connection], place, announcing: announcements) {
                    try await comeBack(
                        connection,
                        to: place.conversation,
                        knowing: before.change,
                        announcing: event,
                        &budget
                    )
                }
            }
        }
        return isComplete
    }

    /// As a member who knows the conversation up to a place, or reads it for himself.
    func enter(_ connection: Connection, _ place: Place) async throws {
        var place: Place? = place
        while let now = place, !join([connection], now) {
            place = try await PlaceStore(db: database.reads).place(of: connection.user, in: now.conversation)
        }
    }

    /// False: the room is ahead of what they know.
    func join(_ arriving: [Connection], _ place: Place, announcing announcements: Announcements = [:]) -> Bool {
        while let first = arriving.first {
            let (room, heard) = connections.open(place.conversation) {
                Room(place.conversation, of: first.user.application, change: place.change, seq: place.seq)
            }
            switch room.join(arriving, knowing: place.change, connections, announcing: announcements) {
            case .isClosed: continue
            case .isAhead: return false
            case .joined:
                if let heard, room.ring(heard) { queue.add([room]) }
                return true
            }
        }
        return true
    }

    /// First tells what was missed, then lets the connection in where that ends.
    func comeBack(
        _ connection: Connection,
        to conversation: Conversation.ID,
        knowing known: Int64,
        announcing announcement: DeliveryEvent? = nil,
        _ budget: inout ComingBack.Budget
    ) async throws {
        if let announcement {
            connection.socket.emit(announcement)
            budget.take(announcement.json.readableBytes)
        }
        let back = ComingBack(connection: connection, conversation: conversation, known: known)
        let isThere = try await catchUp(back, &budget, leaving: ComingBack.pagesWhileHeld)
        switch (isThere, connections.room(conversation)) {
        case (true?, _): return
        case (nil, _): try await startAnew(back)
        case (false?, nil): if try await catchUp(back, &budget) != true { try await startAnew(back) }
        case (false?, let room?):
            // Much is said there. The room waits for the last of it, and so is not ahead again.
            let left = budget
            budget = try await queue.holding(room) { [self] in
                var budget = left
                if try await catchUp(back, &budget) != true { try await startAnew(back) }
                return budget
            }
        }
    }

    /// Page by page; true: it is in, false: there is more to tell, nil: there is nothing to go on from.
    private func catchUp(
        _ back: ComingBack,
        _ budget: inout ComingBack.Budget,
        leaving pages: Int = 0
    ) async throws -> Bool? {
        while budget.allows(back.conversation, leaving: pages) {
            let missed = try await sync.missed(in: back.conversation, by: back.connection.user, after: back.known)
            guard let missed, case .missed(let changes) = missed.changes else { return nil }
            if changes.change > back.known {
                let event = try ComingBack.event(changes, in: back.conversation)
                budget.spend(event.json.readableBytes)
                back.connection.socket.emit(event)
                back.known = changes.change
            }
            guard changes.more else {
                return join([back.connection], missed.place)
            }
            // Where the room is not as far, it may be gone on from there.
            let room = connections.room(back.conversation)
            if room?.join([back.connection], knowing: back.known, connections) == .joined { return true }
        }
        return false
    }

    private func startAnew(_ back: ComingBack) async throws {
        back.connection.socket.emit(ComingBack.resync(back.conversation))
        let place = try await PlaceStore(db: database.reads).place(of: back.connection.user, in: back.conversation)
        if let place { try await enter(back.connection, place) }
    }
}
