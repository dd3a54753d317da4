import ConversationsAPI
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Synchronization
import Wire

/// Has those who are away told of what was said, beside those who say it: a message that is written rings, and nothing of
/// it waits for push.
///
/// Several workers, and several instances, share the conversations. What nobody rang for is found by looking each second.
final class PushRelay: Sendable {
    private static let workers = 2

    private let handOvers: [PushHandOver]
    private let rings: [(heard: AsyncStream<Void>, ring: AsyncStream<Void>.Continuation)]
    /// The workers that have nothing to do.
    private let idle = Mutex<Set<Int>>([])
    private let outbox: PushOutboxStore
    private let meters: PushMeters
    private let logger: Logger

    /// - Parameters:
    ///   - database: the record.
    ///   - push: who is told.
    ///   - names: what people are called.
    ///   - logger: hears what goes wrong.
    ///   - instance: what this instance is called in its claims; no two have the same name.
    init(
        database: PostgresPool,
        push: PushClient,
        names: SenderNames,
        logger: Logger,
        instance: String = Base64URL.random(bytes: 9)
    ) {
        self.logger = logger
        let (store, meters) = (NotableMessageStore(database: database), PushMeters())
        let outbox = PushOutboxStore(database: database)
        self.outbox = outbox
        self.meters = meters
        handOvers = (0..<Self.workers).map { number in
            PushHandOver(
                claimant: "\(instance).\(number)",
                outbox: outbox,
                store: store,
                push: push,
                names: names,
                logger: logger,
                meters: meters
            )
        }
        rings = handOvers.map { _ in
            let (heard, ring) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return (heard: heard, ring: ring)
        }
    }

    /// What a lane has written.
    func note(_ batch: [LaneRecord]) {
        if batch.contains(where: \.outcome.isNewMessage) { ring() }
    }

    var upkeep: [any Service] {
        [
            Periodic("look for what is to be told", every: .seconds(1), logger: logger) { [self] in
                for (_, ring) in rings { ring.yield() }
            },
            Periodic("look at what waits for push", every: .seconds(5), logger: logger) { [self] in
                let lag = try await outbox.lag()
                meters.waiting.record(lag.waiting)
                meters.oldest.record(lag.oldest)
            },
        ]
            + zip(handOvers.indices, handOvers).map { number, handOver in
                Worker(heard: rings[number].heard, handOver: handOver, logger: logger) { [self] isIdle in
                    idle.withLock { idle in _ = isIdle ? idle.insert(number).inserted : idle.remove(number) != nil }
                }
            }
    }

    /// Wakes one worker: one that has nothing to do, where there is one.
    private func ring() {
        let number = idle.withLock { idle in idle.min().flatMap { idle.remove($0) } }
        rings[number ?? 0].ring.yield()
    }
}

/// One who hands over what waits, and waits to hear of more.
private struct Worker: Service {
    let heard: AsyncStream<Void>
    let handOver: PushHandOver
    let logger: Logger
    let rest: @Sendable (_ isIdle: Bool) -> Void

    func run() async {
        var absences = 0
        // A round that has begun is finished, so that no claim is left behind.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause: Duration?
            do {
                let outcome = try await handOver.round()
                if outcome == .done, absences > 0 { logger.info("push takes notifications again") }
                if outcome == .away, absences == 0 { logger.warning("push takes no notifications") }
                absences = outcome == .away ? absences + 1 : outcome == .done ? 0 : absences
                if outcome == .done { continue }
                if outcome == .away { pause = .milliseconds(min(100 << min(absences - 1, 6), 5_000)) }
            } catch {
                logger.warning("notifications were not handed over", metadata: ["error": "\(error)"])
                pause = .seconds(1)
            }
            await wait(pause)
        }
    }

    /// For so long, or until there may be more to do; cut short at shutdown, which the loop above sees.
    private func wait(_ pause: Duration?) async {
        await cancelWhenGracefulShutdown {
            guard let pause else {
                rest(true)
                for await _ in heard { break }
                return rest(false)
            }
            // Cancelled in its sleep it is at an end, as the loop sees.
            try? await Task.sleep(for: pause)
        }
    }
}

extension LaneOutcome {
    fileprivate var isNewMessage: Bool { if case .written = self { true } else { false } }
}
