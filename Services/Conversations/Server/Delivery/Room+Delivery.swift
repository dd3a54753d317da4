import ConversationsAPI
import Locks
import NIOCore
import Wire

/// What has been encoded and is to be told now.
struct EncodedRoomEvent: Sendable {
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
            let mustRead = state.pendingChange >= next && !state.isClosed
            if mustRead { state.pendingChange = 0 }
            return (ready, mustRead)
        }
    }

    /// Where a reading begins.
    var delivered: (change: Int64, seq: Int64) { state.withLock { ($0.change, $0.seq) } }

    /// Tells in order all up to a change, and lets in and out who comes and goes on the way.
    func deliver(
        _ events: [EncodedRoomEvent],
        upTo change: Int64,
        announcing announcements: Announcements = [:],
        to rooms: any DeliveryRooms,
        _ connections: Connections
    ) {
        update { state in
            for roomEvent in events {
                guard !state.isClosed else { return }
                deliver(roomEvent, &state, announcements, to: rooms, connections)
            }
            state.change = max(state.change, change)
        }
    }

    private func deliver(
        _ roomEvent: EncodedRoomEvent,
        _ state: inout State,
        _ announcements: Announcements,
        to rooms: any DeliveryRooms,
        _ connections: Connections
    ) {
        if case .comes(let user) = roomEvent.membership {
            let user = User.ID(application: application, user: user)
            // A connection that is being attached finds the conversation itself, and so does one that was registered
            // after the announcements were read.
            if let announcement = announcements[user] {
                for connection in connections.of(user) where !connection.isAttaching {
                    admit(connection, &state, connections, announcing: announcement)
                }
            }
        }
        let origin = roomEvent.draft.flatMap { state.origins.removeValue(forKey: $0) }
        if let event = roomEvent.event {
            state.effects.append(.emit(event, to: rooms, except: origin))
        }
        state.change = max(state.change, roomEvent.change)
        if let seq = roomEvent.seq { state.seq = max(state.seq, seq) }
        if case .goes(let user) = roomEvent.membership {
            for connection in state.connections where connection.user.user.isExactly(user) {
                expel(connection, &state, connections)
            }
        }
    }

    /// The worker is done; true where there is more to do by now, and the room must be given to a worker again.
    func release(hasMore: Bool) -> Bool {
        state.withLock { state in
            guard !state.isClosed || !state.exclusiveTasks.isEmpty else {
                state.isQueued = false
                return false
            }
            if hasMore { state.pendingChange = max(state.pendingChange, state.change + 1) }
            state.isQueued = state.pendingChange > state.change || !state.exclusiveTasks.isEmpty
            return state.isQueued
        }
    }

    /// It could not be read: what was heard of is still wanted.
    func fail() { state.withLock { $0.pendingChange = Self.anyChange } }
}
