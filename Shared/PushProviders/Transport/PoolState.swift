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
    var inbox: [Exchange] = []

    var room: Int { limit - load }
}

/// What is to be done once the pool's lock is let go.
struct PoolSteps {
    var woken: [(connection: NIOLoopBound<any PooledConnection>, eventLoop: any EventLoop)] = []
    /// Another connection is to be opened, after this long.
    var connects: TimeAmount?
    /// When to look whether something has waited too long.
    var expires: NIODeadline?
    /// Those who waited for the pool's end.
    var ended: [CheckedContinuation<Void, Never>] = []
}

/// The state of a ``ConnectionPool``, without the lock.
struct PoolState {
    /// In the order of their deadlines.
    var waiting: Deque<Exchange> = []
    var members: [PoolMember] = []
    /// Attempts to connect that are under way, or soon will be.
    var connecting = 0
    /// Connections that are open, those that take no more requests included.
    var alive = 0
    var mayConnect = NIODeadline.uptimeNanoseconds(0)
    var isExpirySet = false
    var isShutDown = false
    var enders: [CheckedContinuation<Void, Never>] = []

    var isUnused: Bool { alive == 0 && connecting == 0 && waiting.isEmpty }

    /// Hands out what can be handed out, and says what else there is to do.
    mutating func advance(_ settings: PoolSettings) -> PoolSteps {
        var steps = PoolSteps()
        while !waiting.isEmpty, let place = roomiest, let exchange = waiting.popFirst() {
            members[place].load += 1
            members[place].inbox.append(exchange)
            guard members[place].inbox.count == 1 else { continue }
            steps.woken.append((members[place].connection, members[place].eventLoop))
        }
        if needsConnection(settings) {
            connecting += 1
            steps.connects = max(.nanoseconds(0), mayConnect - .now())
        }
        if let first = waiting.first, !isExpirySet {
            isExpirySet = true
            steps.expires = first.deadline
        }
        if isShutDown, isUnused {
            steps.ended = enders
            enders.removeAll()
        }
        return steps
    }

    private func needsConnection(_ settings: PoolSettings) -> Bool {
        // One at a time: what it is opened for may be over before it is there.
        guard !isShutDown, connecting == 0, members.count < settings.connections else { return false }
        return !waiting.isEmpty || (!members.isEmpty && members.allSatisfy { $0.load >= settings.spread })
    }

    /// Where the next request goes; nil while nobody has room.
    private var roomiest: Int? {
        var best: Int?
        for place in members.indices where members[place].room > 0 {
            if let known = best, members[known].load <= members[place].load { continue }
            best = place
        }
        return best
    }

    mutating func turn(_ id: ObjectIdentifier, finished: Int) -> [Exchange] {
        guard let place = members.firstIndex(where: { $0.id == id }) else { return [] }
        members[place].load -= finished
        while members[place].room > 0, let exchange = waiting.popFirst() {
            members[place].load += 1
            members[place].inbox.append(exchange)
        }
        guard !members[place].inbox.isEmpty else { return [] }
        var inbox: [Exchange] = []
        swap(&inbox, &members[place].inbox)
        return inbox
    }

    mutating func changeLimit(of id: ObjectIdentifier, to limit: Int) {
        guard let place = members.firstIndex(where: { $0.id == id }) else { return }
        members[place].limit = limit
        guard limit == 0, !members[place].inbox.isEmpty else { return }
        members[place].load -= members[place].inbox.count
        waiting.prepend(contentsOf: members[place].inbox)
        members[place].inbox = []
    }

    /// A connection's own way out: what it has not taken, and what it gives back, waits again before all others.
    mutating func takeBack(_ id: ObjectIdentifier, _ returned: [Exchange]) {
        var back = returned
        if let place = members.firstIndex(where: { $0.id == id }) { back += members.remove(at: place).inbox }
        guard !back.isEmpty else { return }
        back.sort { $0.deadline < $1.deadline }
        waiting.prepend(contentsOf: back)
    }

    mutating func takeOverdue(_ now: NIODeadline) -> [Exchange] {
        var overdue: [Exchange] = []
        while let first = waiting.first, first.deadline <= now || first.isOver {
            overdue.append(first)
            waiting.removeFirst()
        }
        return overdue
    }
}
