import Foundation
import Locks
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Resolves the recipients of notifications, a batch of users at a time, and queues what is to be sent.
///
/// Each transaction stores its decisions together with its progress. If an instance stops or crashes, another instance
/// continues; no user is decided twice or skipped. Notifications about one subject are decided in order. Notifications
/// in one partition take turns, so that a large one does not block the others.
final class FanOutWorker: Service {
    static let batch = 1_000
    private static let notifications = 64
    private static let workers = 2

    private struct BatchRead: Sendable {
        var batch = Batch()
        var steps = 0
        var unreadable: [FailedRow] = []
    }

    private let database: PostgresPool
    private let rules: Rules
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let metrics = FanOutMetrics()
    let wakeSignal = WakeSignal()
    private let queueSignal: WakeSignal

    init(
        database: PostgresPool,
        rules: Rules,
        queueSignal: WakeSignal,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.rules = rules
        self.queueSignal = queueSignal
        self.setAside = setAside
        self.logger = logger
        self.now = now
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.workers {
                group.addTask {
                    await self.wakeSignal.runUntilShutdown(self.logger, "fan-out batch failed") {
                        try await self.processBatch()
                    }
                }
            }
        }
    }

    /// Decides a batch of new notifications and a batch of held ones.
    ///
    /// - Returns: the number of processed rows; 0 if there is nothing to do.
    func processBatch() async throws -> Int {
        let now = now()
        var decided = 0
        if try await FanOutStore(db: database.reads).hasWork(at: now) {
            decided += try await decide(.fanout, upTo: Self.notifications) { db, limit, willDecide in
                try await self.due(at: now, on: db, limit: limit, willDecide: willDecide)
            }
        }
        if try await HeldStore(db: database.reads).hasDue(at: now) {
            decided += try await decide(.held, upTo: Self.batch) { db, limit, willDecide in
                try await Self.held(at: now, on: db, limit: limit, willDecide: willDecide)
            }
        }
        return decided
    }

    /// Decides a batch.
    ///
    /// If the batch fails, decides its rows singly up to the row that fails. The failed row is retried later and does
    /// not delay the others.
    private func decide(
        _ kind: SetAsideKind,
        upTo limit: Int,
        _ read: @Sendable (PostgresTransaction, Int, ([String]) -> Void) async throws -> BatchRead
    ) async throws -> Int {
        do {
            return try await write(kind) { db in try await read(db, limit) { _ in } }
        } catch {
            guard FailedRow([], error) != nil else { throw error }
            logger.notice("fan-out batch failed, deciding rows singly", metadata: ["error": "\(error)"])
        }
        var decided = 0
        for _ in 0..<limit {
            let currentKey = Lock<[String]?>(nil)
            do {
                let steps = try await write(kind) { db in
                    try await read(db, 1) { key in currentKey.withLock { $0 = key } }
                }
                guard steps > 0 else { break }
                decided += steps
            } catch {
                guard let key = currentKey.withLock({ $0 }), let failed = FailedRow(key, error) else { throw error }
                try await setAside.failed([failed], of: kind)
                return decided + 1
            }
        }
        return decided
    }

    private func write(
        _ kind: SetAsideKind,
        _ read: @Sendable (PostgresTransaction) async throws -> BatchRead
    ) async throws -> Int {
        let now = now()
        let (decided, batchRead) = try await database.transaction { db -> (FanOutResult?, BatchRead) in
            try await BatchPlans.set(in: db)
            let batchRead = try await read(db)
            guard !batchRead.batch.candidates.isEmpty else { return (nil, batchRead) }
            return (try await decide(batchRead.batch, at: now, on: db), batchRead)
        }
        if let decided {
            metrics.count(decided)
            if !decided.queue.isEmpty { queueSignal.wake() }
        }
        try await setAside.failed(batchRead.unreadable, of: kind)
        return batchRead.steps
    }

    /// Reads the next recipients of the partition whose turn it is, and advances each notification's position.
    private func due(
        at now: Date,
        on db: PostgresTransaction,
        limit: Int,
        willDecide: ([String]) -> Void
    ) async throws -> BatchRead {
        let store = FanOutStore(db: db)
        guard let partition = try await store.lockPartition(at: now) else { return BatchRead() }
        var batch = Batch()
        var finished: [Int64] = []
        let (fanouts, unreadable) = try await store.due(in: partition, at: now, limit: limit)
        for fanout in fanouts where batch.candidates.count < Self.batch {
            willDecide(["\(fanout.notification.key)"])
            let index = batch.notifications.count
            batch.notifications.append(fanout.notification)
            let capacity = Self.batch - batch.candidates.count
            let (candidates, isLast) = try await Self.candidates(of: fanout, as: index, capacity: capacity, on: db)
            batch.candidates += candidates
            if isLast {
                finished.append(fanout.notification.key)
            } else if let last = candidates.last {
                try await store.advance(fanout.notification.key, after: last.user, at: now)
            }
        }
        try await store.finish(finished)
        return BatchRead(
            batch: batch,
            steps: batch.notifications.count + unreadable.count,
            unreadable: unreadable
        )
    }

    private static func candidates(
        of fanout: FanOutStore<PostgresTransaction>.FanOutJob,
        as index: Int,
        capacity: Int,
        on db: PostgresTransaction
    ) async throws -> (candidates: [Candidate], isLast: Bool) {
        let (application, store) = (fanout.notification.application, AudienceStore(db: db))
        if fanout.notification.isCancelled { return ([], true) }
        switch fanout.audience {
        case .people(let recipients):
            let candidates = recipients.map { recipient in
                Candidate(
                    notification: index,
                    user: User.ID(application: application, user: recipient.userId),
                    exceptDevices: recipient.exceptDeviceIds ?? [],
                    badge: recipient.badge
                )
            }
            return (candidates, true)
        case .devices(let ids):
            let candidates = try await store.owners(of: ids, in: application).map { user, devices in
                let user = User.ID(application: application, user: user)
                return Candidate(notification: index, user: user, onlyDevices: devices)
            }
            return (candidates, true)
        case .topic(let topic):
            let users = try await store.subscribers(
                to: topic,
                of: application,
                after: fanout.after.user,
                limit: capacity
            )
            return (users.map { Candidate(notification: index, user: $0) }, users.count < capacity)
        case .favourites(let broadcaster):
            let users = try await store.favourites(of: broadcaster, after: fanout.after, limit: capacity)
            return (users.map { Candidate(notification: index, user: $0) }, users.count < capacity)
        }
    }

    private static func held(
        at now: Date,
        on db: PostgresTransaction,
        limit: Int,
        willDecide: ([String]) -> Void
    ) async throws -> BatchRead {
        let (held, unreadable) = try await HeldStore(db: db).claimDue(at: now, limit: limit)
        var batch = Batch()
        var indexes: [Int64: Int] = [:]
        for row in held {
            willDecide(row.key.columns)
            let index = indexes[row.notification.key] ?? batch.notifications.count
            if indexes.updateValue(index, forKey: row.notification.key) == nil {
                batch.notifications.append(row.notification)
            }
            batch.candidates.append(row.candidate(notification: index))
        }
        return BatchRead(batch: batch, steps: held.count + unreadable.count, unreadable: unreadable)
    }

    private func decide(_ batch: Batch, at now: Date, on db: PostgresTransaction) async throws -> FanOutResult {
        let audience = AudienceStore(db: db)
        let recipientSettings = try await audience.recipientSettings(of: batch)
        let devices = try await audience.devices(of: Set(batch.candidates.map(\.user)))
        var decided = FanOutResult(
            batch,
            recipientSettings: recipientSettings,
            devices: devices,
            rules: rules,
            now: now
        )
        let badgedDevices = decided.devicesWithBadge
        if !badgedDevices.isEmpty {
            let numbers = decided.number(from: try await audience.lockBadges(of: badgedDevices))
            try await audience.set(badges: numbers)
        }
        try await QueueStore(db: db).insert(decided.queue, of: batch, at: now)
        try await LogStore(db: db).insert(decided.log, of: batch, at: now)
        try await HeldStore(db: db).hold(decided.held, of: batch, at: now)
        try await NotificationStore(db: db).addCounts(
            zip(batch.notifications, decided.counts).map { (key: $0.key, $1) }
        )
        return decided
    }
}
