import ConversationsAPI
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Has those who are away told of what was said, beside those who say it: a message that is written rings, and nothing of
/// it waits for push.
final class PushOutbox: Sendable {
    private static let workers = 2

    private let outboxWorkers: OutboxWorker
    private let outbox: PushOutboxStore
    private let metrics: PushMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - database: the record.
    ///   - push: who is told.
    ///   - names: what people are called.
    ///   - setAside: takes messages that fail out of the way of the others.
    ///   - recalledBy: the subscribers of ``NotificationRecalled``.
    ///   - logger: hears what goes wrong.
    ///   - instance: what this instance is called in its claims; no two have the same name.
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

    /// What a lane has written.
    func didWrite(_ batch: [CompletedWrite]) {
        if batch.contains(where: \.outcome.isNewMessage) { outboxWorkers.notify() }
    }

    var backgroundServices: [any Service] {
        let look = PeriodicTask("look at what waits for push", every: .seconds(5), logger: logger) { [self] in
            let lag = try await outbox.lag()
            metrics.waiting.record(lag.waiting)
            metrics.oldest.record(lag.oldest)
        }
        return [look] + outboxWorkers.maintenance
    }
}

extension WriteOutcome {
    fileprivate var isNewMessage: Bool { if case .written = self { true } else { false } }
}
