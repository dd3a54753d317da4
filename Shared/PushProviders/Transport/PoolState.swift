import DequeModule
import NIOCore

/// A connection in a pool.
struct PoolMember: Sendable {
    let id: ObjectIdentifier
    let connection: NIOLoopBound<any PooledConnection>
    let eventLoop: any EventLoop
    var limit: Int
    /// The number of assigned requests, including the inbox.
    var load = 0
    /// Assigned requests that the connection has not taken yet.
    var inbox: [PendingRequest] = []

    var room: Int { limit - load }
}

/// The actions to perform after the pool's lock is released.
struct PoolActions {
    var woken: [(connection: NIOLoopBound<any PooledConnection>, eventLoop: any EventLoop)] = []
    var connectDelay: TimeAmount?
    var expires: NIODeadline?
    var ended: [CheckedContinuation<Void, Never>] = []
}

/// The state of a ``ConnectionPool``, without the lock.
struct PoolState {
    /// In the order of their deadlines.
    var waiting: Deque<PendingRequest> = []
    var members: [PoolMember] = []
    /// Current and scheduled attempts to connect.
    var connecting = 0
    /// Open connections, including those that take no more requests.
    var alive = 0
    var nextConnectAt = NIODeadline.uptimeNanoseconds(0)
    var isExpiryScheduled = false
    var isShutDown = false
    var shutdownWaiters: [CheckedContinuation<Void, Never>] = []

    var isUnused: Bool { alive == 0 && connecting == 0 && waiting.isEmpty }

    /// Assigns waiting requests to connections; returns the actions that follow.
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
        // One attempt at a time, because the load may be gone before the connection is open.
        guard !isShutDown, connecting == 0, members.count < settings.connections else { return false }
        return !waiting.isEmpty || (!members.isEmpty && members.allSatisfy { $0.load >= settings.spread })
    }

    private var leastLoaded: Int? {
        var best: Int?
        for index in members.indices where members[index].room > 0 {
            if let best, members[best].load <= members[index].load { continue }
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

    /// Removes a connection; its untaken and returned requests go to the front of the waiting ones.
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
