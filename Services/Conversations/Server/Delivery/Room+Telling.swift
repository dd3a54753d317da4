import ConversationsAPI
import Locks
import NIOCore
import Wire

/// What has been encoded and is to be told now.
struct EncodedTelling: Sendable {
    let change: Int64
    let event: DeliveryEvent?
    /// Of a new message.
    var seq: Int64?
    var draft: Room.Draft?
    var membership: SystemEvent.Membership?
}

// What the one worker does that is at the room.
extension Room {
    /// Takes what was written here and follows on what was told; whether there is something to be read besides.
    ///
    /// What was heard of until now is not to be asked for again, when the reading begins now.
    func take() -> (written: [Written], mustRead: Bool) {
        state.withLock { state in
            var next = state.change + 1
            var ready: [Written] = []
            while let first = state.written.first, first.outcome.change <= next {
                state.written.removeFirst()
                state.writtenBytes -= first.message.textBytes
                guard first.outcome.change == next else { continue }
                ready.append(first)
                next += 1
            }
            // Nobody is in a closed room: one that cannot be read would be read for ever.
            let mustRead = state.wanted >= next && !state.isClosed
            if mustRead { state.wanted = 0 }
            return (ready, mustRead)
        }
    }

    /// Where a reading begins.
    var told: (change: Int64, seq: Int64) { state.withLock { ($0.change, $0.seq) } }

    /// Tells in order all up to a change, and lets in and out who comes and goes on the way.
    func tell(
        _ tellings: [EncodedTelling],
        upTo change: Int64,
        announcing announcements: Announcements = [:],
        to rooms: any DeliveryRooms,
        _ connections: Connections
    ) {
        update { state in
            for telling in tellings {
                guard !state.isClosed else { return }
                tell(telling, &state, announcements, to: rooms, connections)
            }
            state.change = max(state.change, change)
        }
    }

    private func tell(
        _ telling: EncodedTelling,
        _ state: inout State,
        _ announcements: Announcements,
        to rooms: any DeliveryRooms,
        _ connections: Connections
    ) {
        if case .comes(let user) = telling.membership {
            let user = User.ID(application: application, user: user)
            // A connection that is being attached finds the conversation itself, and so does one that was registered
            // after the announcements were read.
            if let announcement = announcements[user] {
                for connection in connections.of(user) where !connection.isBeingAttached {
                    admit(connection, &state, connections, announcing: announcement)
                }
            }
        }
        let origin = telling.draft.flatMap { state.origins.removeValue(forKey: $0) }
        if let event = telling.event {
            state.effects.append(.emit(event, to: rooms, except: origin))
        }
        state.change = max(state.change, telling.change)
        if let seq = telling.seq { state.seq = max(state.seq, seq) }
        if case .goes(let user) = telling.membership {
            for connection in state.connections where connection.user.user.isExactly(user) {
                expel(connection, &state, connections)
            }
        }
    }

    /// The worker is done; true where there is more to do by now, and the room must be given to a worker again.
    func rest(hasMore: Bool) -> Bool {
        state.withLock { state in
            guard !state.isClosed || !state.visits.isEmpty else {
                state.isQueued = false
                return false
            }
            if hasMore { state.wanted = max(state.wanted, state.change + 1) }
            state.isQueued = state.wanted > state.change || !state.visits.isEmpty
            return state.isQueued
        }
    }

    /// It could not be read: what was heard of is still wanted.
    func fail() { state.withLock { $0.wanted = Self.look } }
}
