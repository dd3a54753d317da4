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
final class PushRelay: Sendable {
    private static let workers = 2

    private let handOvers: HandOvers
    private let outbox: PushOutboxStore
    private let meters: PushMeters
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
        let (store, meters) = (NotableMessageStore(database: database), PushMeters())
        let muted = Throttle<MutedPage>(pause: .seconds(60))
        let outbox = PushOutboxStore(database: database, recalledBy: recalledBy)
        self.outbox = outbox
        self.meters = meters
        let rounds = (0..<Self.workers).map { number in
            PushHandOver(
                claimant: "\(instance).\(number)",
                outbox: outbox,
                store: store,
                push: push,
                names: names,
                setAside: setAside,
                logger: logger,
                meters: meters,
                muted: muted
            ).round
        }
        handOvers = HandOvers(to: "push", rounds, logger: logger)
    }

    /// What a lane has written.
    func note(_ batch: [LaneRecord]) {
        if batch.contains(where: \.outcome.isNewMessage) { handOvers.ring() }
    }

    var upkeep: [any Service] {
        let look = Periodic("look at what waits for push", every: .seconds(5), logger: logger) { [self] in
            let lag = try await outbox.lag()
            meters.waiting.record(lag.waiting)
            meters.oldest.record(lag.oldest)
        }
        return [look] + handOvers.upkeep
    }
}

extension LaneOutcome {
    fileprivate var isNewMessage: Bool { if case .written = self { true } else { false } }
}
