import ConversationsAPI
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// The delivery of new messages to push, beside the senders: a written message wakes the workers, and no sender waits
/// for push.
final class PushOutbox: Sendable {
    private static let workers = 2

    private let outboxWorkers: OutboxWorker
    private let outbox: PushOutboxStore
    private let metrics: PushMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - database: stores the outbox.
    ///   - push: receives the notifications.
    ///   - names: provides the names of senders.
    ///   - setAside: separates messages that fail from the others.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``.
    ///   - logger: receives the failures.
    ///   - instance: the unique name of this instance in its claims.
    init(
        database: PostgresPool,
        push: PushClient,
        names: SenderNames,
        setAside: SetAside,
        recalledBy: [String] = [],
        logger: Logger,
        instance: String = Base64URL.random(bytes: 9)
    ) {
        self.logger = logger
        let (store, metrics) = (NotableMessageStore(database: database), PushMetrics())
        let muted = Throttle<MutedPage>(pause: .seconds(60))
        let outbox = PushOutboxStore(database: database, recalledBy: recalledBy)
        self.outbox = outbox
        self.metrics = metrics
        let runs = (0..<Self.workers).map { number in
            PushOutboxWorker(
                claimant: "\(instance).\(number)",
                outbox: outbox,
                store: store,
                push: push,
                names: names,
                setAside: setAside,
                logger: logger,
                metrics: metrics,
                muted: muted
            ).runOnce
        }
        outboxWorkers = OutboxWorker(to: "push", runs, logger: logger)
    }

    /// Wakes the workers when a write shard has written new messages.
    func didWrite(_ batch: [CompletedWrite]) {
        if batch.contains(where: \.outcome.isNewMessage) { outboxWorkers.notify() }
    }

    var backgroundServices: [any Service] {
        let lagRecorder = PeriodicTask("push outbox metrics", every: .seconds(5), logger: logger) { [self] in
            let lag = try await outbox.lag()
            metrics.waiting.record(lag.waiting)
            metrics.oldest.record(lag.oldest)
        }
        return [lagRecorder] + outboxWorkers.maintenance
    }
}

extension WriteOutcome {
    fileprivate var isNewMessage: Bool { if case .written = self { true } else { false } }
}
