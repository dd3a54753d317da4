import Foundation
import Locks
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Decides whom notifications are for, a batch of people at a time, and puts what is to be sent into the queue.
///
/// How far each has come is in the database, in the transaction that decides: whoever is stopped or dies in the middle of
/// a hundred thousand people is followed by another instance, and nobody is decided about twice or left out. What is about
/// one thing is decided in its order; a big one takes turns with those that are due beside it.
final class FanOut: Service {
    /// How many people are decided about in one transaction.
    static let batch = 1_000
    /// How many notifications, likewise.
    private static let notifications = 64
    /// Batches at once in one instance.
    private static let workers = 2

    /// What a transaction has read.
    private struct Reading: Sendable {
        var batch = Batch()
        /// How many rows it was.
        var steps = 0
        var unreadable: [FailedRow] = []
    }

    private let database: PostgresPool
    private let rules: Rules
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let meters = FanOutMeters()
    /// Rung where something was written that is to be told.
    let bell = Bell()
    private let queued: Bell

    /// Rings `queued` where there is something in the queue.
    init(
        database: PostgresPool,
        rules: Rules,
        queued: Bell,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.rules = rules
        self.queued = queued
        self.setAside = setAside
        self.logger = logger
        self.now = now
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.workers {
                group.addTask {
                    await self.bell.rounds(self.logger, "notifications are not decided") { try await self.round() }
                }
            }
        }
    }

    /// Decides about a batch of what is new, and one of what was held; returns for how many people, or 0 at the end.
    func round() async throws -> Int {
        let now = now()
        var decided = 0
        if try await FanoutStore(db: database.reads).hasWork(at: now) {
            decided += try await decide(.fanout, upTo: Self.notifications) { db, limit, beginning in
                try await self.due(at: now, on: db, limit: limit, beginning: beginning)
            }
        }
        if try await HeldStore(db: database.reads).hasDue(at: now) {
            decided += try await decide(.held, upTo: Self.batch) { db, limit, beginning in
                try await Self.held(at: now, on: db, limit: limit, beginning: beginning)
            }
        }
        return decided
    }

    /// Decides about a batch.
    ///
    /// Where the batch fails, decides its rows one by one up to the row that fails: that row is retried later, and the
    /// others do not wait for it.
    private func decide(
        _ kind: SetAsideKind,
        upTo limit: Int,
        _ read: @Sendable (PostgresTransaction, Int, ([String]) -> Void) async throws -> Reading
    ) async throws -> Int {
        do {
            return try await write(kind) { db in try await read(db, limit) { _ in } }
        } catch {
            guard FailedRow([], error) != nil else { throw error }
            logger.notice("notifications are decided one by one", metadata: ["error": "\(error)"])
        }
        var decided = 0
        for _ in 0..<limit {
            let begun = Lock<[String]?>(nil)
            do {
                let steps = try await write(kind) { db in
                    try await read(db, 1) { key in begun.withLock { $0 = key } }
                }
                guard steps > 0 else { break }
                decided += steps
            } catch {
                guard let key = begun.withLock({ $0 }), let failed = FailedRow(key, error) else { throw error }
                try await setAside.failed([failed], of: kind)
                return decided + 1
            }
        }
        return decided
    }

    private func write(
        _ kind: SetAsideKind,
        _ read: @Sendable (PostgresTransaction) async throws -> Reading
    ) async throws -> Int {
        let now = now()
        let (decided, reading) = try await database.transaction { db -> (Decided?, Reading) in
            try await BatchPlans.set(in: db)
            let reading = try await read(db)
            guard !reading.batch.addressees.isEmpty else { return (nil, reading) }
            return (try await decide(reading.batch, at: now, on: db), reading)
        }
        if let decided {
            meters.count(decided)
            if !decided.queue.isEmpty { queued.ring() }
        }
        try await setAside.failed(reading.unreadable, of: kind)
        return reading.steps
    }

    /// The next people of what is due in the lane whose turn it is; moves each notification on behind them.
    private func due(
        at now: Date,
        on db: PostgresTransaction,
        limit: Int,
        beginning: ([String]) -> Void
    ) async throws -> Reading {
        let store = FanoutStore(db: db)
        guard let lane = try await store.takeLane(at: now) else { return Reading() }
        var batch = Batch()
        var finished: [Int64] = []
        let (fanouts, unreadable) = try await store.due(in: lane, at: now, limit: limit)
        for fanout in fanouts where batch.addressees.count < Self.batch {
            beginning(["\(fanout.notification.key)"])
            let place = batch.notifications.count
            batch.notifications.append(fanout.notification)
            let room = Self.batch - batch.addressees.count
            let (people, isLast) = try await Self.people(of: fanout, as: place, room: room, on: db)
            batch.addressees += people
            if isLast {
                finished.append(fanout.notification.key)
            } else if let last = people.last {
                try await store.advance(fanout.notification.key, behind: last.user, at: now)
            }
        }
        try await store.finish(finished)
        return Reading(
            batch: batch,
            steps: batch.notifications.count + unreadable.count,
            unreadable: unreadable
        )
    }

    private static func people(
        of fanout: FanoutStore<PostgresTransaction>.Fanout,
        as place: Int,
        room: Int,
        on db: PostgresTransaction
    ) async throws -> (people: [Addressee], isLast: Bool) {
        let (application, store) = (fanout.notification.application, AudienceStore(db: db))
        // Whom a notification that was taken back was for is of no interest.
        if fanout.notification.isCancelled { return ([], true) }
        switch fanout.audience {
        case .people(let recipients):
            let people = recipients.map { recipient in
                Addressee(
                    notification: place,
                    user: User.ID(application: application, user: recipient.userId),
                    exceptDevices: recipient.exceptDeviceIds ?? [],
                    badge: recipient.badge
                )
            }
            return (people, true)
        case .devices(let ids):
            let people = try await store.owners(of: ids, in: application).map { user, devices in
                let user = User.ID(application: application, user: user)
                return Addressee(notification: place, user: user, onlyDevices: devices)
            }
            return (people, true)
        case .topic(let topic):
            let users = try await store.subscribers(to: topic, of: application, after: fanout.after.user, limit: room)
            return (users.map { Addressee(notification: place, user: $0) }, users.count < room)
        case .favourites(let broadcaster):
            let users = try await store.favourites(of: broadcaster, after: fanout.after, limit: room)
            return (users.map { Addressee(notification: place, user: $0) }, users.count < room)
        }
    }

    /// What waited for the end of quiet hours.
    private static func held(
        at now: Date,
        on db: PostgresTransaction,
        limit: Int,
        beginning: ([String]) -> Void
    ) async throws -> Reading {
        let (held, unreadable) = try await HeldStore(db: db).takeDue(at: now, limit: limit)
        var batch = Batch()
        var places: [Int64: Int] = [:]
        for one in held {
            beginning(one.key.columns)
            let place = places[one.notification.key] ?? batch.notifications.count
            if places.updateValue(place, forKey: one.notification.key) == nil {
                batch.notifications.append(one.notification)
            }
            batch.addressees.append(one.addressee(notification: place))
        }
        return Reading(batch: batch, steps: held.count + unreadable.count, unreadable: unreadable)
    }

    private func decide(_ batch: Batch, at now: Date, on db: PostgresTransaction) async throws -> Decided {
        let audience = AudienceStore(db: db)
        let facts = try await audience.facts(of: batch)
        let devices = try await audience.devices(of: Set(batch.addressees.map(\.user)))
        var decided = Decided(batch, facts: facts, devices: devices, rules: rules, now: now)
        let numbered = decided.numberedDevices
        if !numbered.isEmpty {
            let numbers = decided.number(from: try await audience.lockBadges(of: numbered))
            try await audience.set(badges: numbers)
        }
        try await QueueStore(db: db).insert(decided.queue, of: batch, at: now)
        try await LogStore(db: db).insert(decided.log, of: batch, at: now)
        try await HeldStore(db: db).hold(decided.held, of: batch, at: now)
        try await NotificationStore(db: db).count(
            zip(batch.notifications, decided.counts).map { (key: $0.key, $1) }
        )
        return decided
    }
}
