import ConversationsAPI
import Locks
import NIOCore
import Wire

/// An encoded event that is about to be delivered.
struct EncodedRoomEvent: Sendable {
    let change: Int64
    let event: DeliveryEvent?
    /// The `seq` of a new message.
    var seq: Int64?
    var draft: Room.Draft?
    var membership: SystemEvent.Membership?
}

// The steps of the one worker that processes the room.
extension Room {
    /// Removes the messages that were written here and follow the delivered ones; returns whether more must be read.
    ///
    /// The pending change is reset, because a read that begins now covers it.
    func dequeueWritten() -> (written: [Written], mustRead: Bool) {
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
            // A closed room has no connections. Without this check, a room that cannot be read would be read forever.
            let mustRead = state.pendingChange >= next && !state.isClosed
            if mustRead { state.pendingChange = 0 }
            return (ready, mustRead)
        }
    }

    /// The position at which a read begins.
    var delivered: (change: Int64, seq: Int64) { state.withLock { ($0.change, $0.seq) } }

    /// Delivers events in order up to a change, and admits and removes joining and leaving members on the way.
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
        if case .joined(let user) = roomEvent.membership {
            let user = User.ID(application: application, user: user)
            // A connection that is being attached finds the conversation itself. So does a connection that was
            // registered after the announcements were read.
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
        if case .left(let user) = roomEvent.membership {
            for connection in state.connections where connection.user.user.isExactly(user) {
                expel(connection, &state, connections)
            }
        }
    }

    /// Ends the worker's turn; returns true when more work has arrived, and the room must be queued again.
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

    /// Keeps the room's changes pending after a failed read.
    func fail() { state.withLock { $0.pendingChange = Self.anyChange } }
}
