import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle

struct Maintenance: Sendable {
    private static let batch = 5_000
    /// The seconds for which rows of `cooldowns` are kept beyond the cooldown.
    private static let cooldownMargin: TimeInterval = 86_400

    let database: PostgresPool
    let settings: PipelineConfiguration
    let now: @Sendable () -> Date
    private let waiting = Self.gauges("roost_push_queued_notifications")
    private let oldest = Self.gauges("roost_push_queue_oldest_age_seconds")
    private let circuits = Self.gauges("roost_push_open_circuits")
    private let undecided = Gauge(label: "roost_push_pending_fanouts")
    private let held = Gauge(label: "roost_push_held_notifications")
    private let failures = Gauge(label: "roost_push_failed_notifications")
    private let expired = Counter(label: "roost_push_expired_total")

    init(database: PostgresPool, settings: PipelineConfiguration, now: @escaping @Sendable () -> Date) {
        self.database = database
        self.settings = settings
        self.now = now
    }

    private static func gauges(_ label: String) -> [ProviderKind: Gauge] {
        Dictionary(
            uniqueKeysWithValues: ProviderKind.allCases.map { kind in
                (kind, Gauge(label: label, dimensions: [("provider", kind.rawValue)]))
            }
        )
    }

    func background(_ logger: Logger) -> [any Service] {
        [
            PeriodicTask("expiry of notifications", every: .seconds(5), logger: logger, expire),
            PeriodicTask("pruning of notifications", every: .seconds(60), logger: logger, prune),
            PeriodicTask("count of notifications", every: .seconds(10), logger: logger, count),
        ]
    }

    /// Moves expired notifications from the queue to the log, also while a circuit is open.
    func expire() async throws {
        try await repeatInBatches {
            let count = try await QueueStore(db: database).expire(at: now(), limit: Self.batch)
            expired.increment(by: count)
            return count
        }
    }

    func prune() async throws {
        let now = now()
        let past = now.addingTimeInterval(-TimeInterval(settings.logDays) * 86_400)
        try await repeatInBatches { try await LogStore(db: database).prune(before: past, limit: Self.batch) }
        try await repeatInBatches { try await FailureStore(db: database).prune(before: past, limit: Self.batch) }
        try await repeatInBatches {
            try await NotificationStore(db: database).prune(expiredBefore: past, limit: Self.batch)
        }
        let cooled = now.addingTimeInterval(-settings.cooldown - Self.cooldownMargin)
        try await repeatInBatches {
            try await ResultStore(db: database).pruneCooldowns(before: cooled, limit: Self.batch)
        }
        try await CircuitStore(db: database).prune(healthySince: now.addingTimeInterval(-3_600))
    }

    func count() async throws {
        let queues = Dictionary(grouping: try await QueueAdminStore(db: database).queues()) { queue in
            ProviderQueue(application: queue.applicationId, service: queue.service).kind
        }
        for kind in ProviderKind.allCases {
            let queues = queues[kind] ?? []
            waiting[kind]?.record(queues.reduce(0) { $0 + $1.waiting })
            oldest[kind]?.record(queues.compactMap(\.oldest).min().map { max(0, now().timeIntervalSince($0)) } ?? 0)
            circuits[kind]?.record(queues.count { $0.circuit?.isOpen == true })
        }
        undecided.record(try await FanOutStore(db: database).count())
        held.record(try await HeldStore(db: database).count())
        failures.record(try await FailureStore(db: database).count())
    }

    /// Deletes in batches, so that no other transaction waits long.
    private func repeatInBatches(_ step: () async throws -> Int) async throws {
        while try await step() == Self.batch {}
    }
}
