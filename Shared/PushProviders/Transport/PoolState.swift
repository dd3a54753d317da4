import DequeModule
import NIOCore

/// A connection, as its pool sees it.
struct PoolMember: Sendable {
    let id: ObjectIdentifier
    let connection: NIOLoopBound<any PooledConnection>
    let eventLoop: any EventLoop
    /// How many requests it may have under way.
    var limit: Int
    /// How many it has, those in its inbox included.
    var load = 0
    /// What it has not yet taken.
    var inbox: [PendingRequest] = []

    var room: Int { limit - load }
}

/// What is to be done once the pool's lock is let go.
struct PoolActions {
    var woken: [(connection: NIOLoopBound<any PooledConnection>, eventLoop: any EventLoop)] = []
    /// Another connection is to be opened, after this long.
    var connectDelay: TimeAmount?
    /// When to look whether something has waited too long.
    var expires: NIODeadline?
    /// Those who waited for the pool's end.
    var ended: [CheckedContinuation<Void, Never>] = []
}

/// The state of a ``ConnectionPool``, without the lock.
struct PoolState {
    /// In the order of their deadlines.
    var waiting: Deque<PendingRequest> = []
    var members: [PoolMember] = []
    /// Attempts to connect that are under way, or soon will be.
    var connecting = 0
    /// Connections that are open, those that take no more requests included.
    var alive = 0
    var nextConnectAt = NIODeadline.uptimeNanoseconds(0)
    var isExpiryScheduled = false
    var isShutDown = false
    var shutdownWaiters: [CheckedContinuation<Void, Never>] = []

    var isUnused: Bool { alive == 0 && connecting == 0 && waiting.isEmpty }

    /// Hands out what can be handed out, and says what else there is to do.
    mutating func advance(_ settings: PoolSettings) -> PoolActions {
        var actions = PoolActions()
        while !waiting.isEmpty, let index = leastLoaded, let pendingRequest = waiting.popFirst() {
            members[index].load += 1
            members[index].inbox.append(pendingRequest)
            guard members[index].inbox.count == 1 else { continue }
            actions.woken.append((members[index].connection, members[index].eventLoop))
        }
        if needsConnection(settings) {
            connecting += 1
            actions.connectDelay = max(.nanoseconds(0), nextConnectAt - .now())
        }
        if let first = waiting.first, !isExpiryScheduled {
            isExpiryScheduled = true
            actions.expires = first.deadline
        }
        if isShutDown, isUnused {
            actions.ended = shutdownWaiters
            shutdownWaiters.removeAll()
        }
        return actions
    }

    private func needsConnection(_ settings: PoolSettings) -> Bool {
        // One at a time: what it is opened for may be over before it is there.
        guard !isShutDown, connecting == 0, members.count < settings.connections else { return false }
        return !waiting.isEmpty || (!members.isEmpty && members.allSatisfy { $0.load >= settings.spread })
    }

    /// Where the next request goes; nil while nobody has room.
    private var leastLoaded: Int? {
        var best: Int?
        for index in members.indices where members[index].room > 0 {
            if let known = best, members[known].load <= members[index].load { continue }
            best = index
        }
        return best
    }

    mutating func takeRequests(_ id: ObjectIdentifier, finished: Int) -> [PendingRequest] {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return [] }
        members[index].load -= finished
        while members[index].room > 0, let pendingRequest = waiting.popFirst() {
            members[index].load += 1
            members[index].inbox.append(pendingRequest)
        }
        guard !members[index].inbox.isEmpty else { return [] }
        var inbox: [PendingRequest] = []
        swap(&inbox, &members[index].inbox)
        return inbox
    }

    mutating func changeLimit(of id: ObjectIdentifier, to limit: Int) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].limit = limit
        guard limit == 0, !members[index].inbox.isEmpty else { return }
        members[index].load -= members[index].inbox.count
        waiting.prepend(contentsOf: members[index].inbox)
        members[index].inbox = []
    }

    /// A connection's own way out: what it has not taken, and what it gives back, waits again before all others.
    mutating func reclaim(_ id: ObjectIdentifier, _ returned: [PendingRequest]) {
        var back = returned
        if let index = members.firstIndex(where: { $0.id == id }) { back += members.remove(at: index).inbox }
        guard !back.isEmpty else { return }
        back.sort { $0.deadline < $1.deadline }
        waiting.prepend(contentsOf: back)
    }

    mutating func removeExpired(_ now: NIODeadline) -> [PendingRequest] {
        var overdue: [PendingRequest] = []
        while let first = waiting.first, first.deadline <= now || first.isOver {
            overdue.append(first)
            waiting.removeFirst()
        }
        return overdue
    }
}
