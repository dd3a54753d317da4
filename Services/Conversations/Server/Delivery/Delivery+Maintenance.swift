import ConversationsAPI
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

// Periodic checks, so that a lost notification delays an event by one second and has no other effect.
extension Delivery {
    /// The maximum number of conversations checked each second; more are checked in turn.
    private static let sweepBatch = 20_000

    /// The tasks that run beside the bus.
    var backgroundServices: [any Service] {
        [
            PeriodicTask("conversation sweep", every: .seconds(1), logger: logger, sweep),
            PeriodicTask("join sweep", every: .seconds(1), logger: logger) { [self] in
                changeNotifier.checkJoins()
            },
            PeriodicTask("join pruning", every: .seconds(10), logger: logger, pruneJoins),
            SignalLoop(changeNotifier.joins) { [self] in await checkJoins() },
            presences,
        ] + devices.backgroundServices
    }

    /// Compares the heads of the conversations with open rooms, in one statement.
    func sweep() async throws {
        let rooms = connections.openRooms(limit: Self.sweepBatch, from: sweepStart)
        guard !rooms.isEmpty else { return }
        // Not on the shared read connections, because the statement takes long for many conversations.
        let found = try await MemberHeadStore(db: database).ahead(of: rooms.map { ($0.conversation, $0.change) })
        let unnotified = found.filter { conversation, _ in connections.room(conversation)?.isIdle ?? false }
        lateRooms.increment(by: unnotified.count)
        changeNotifier.receive(Dictionary(found.map { ($0, $1 ?? Room.anyChange) }) { max($0, $1) })
    }

    /// Reads all open rooms, because the bus may have lost any message.
    func checkAllRooms() {
        changeNotifier.receive(Dictionary(connections.conversations.map { ($0, Room.anyChange) }) { max($0, $1) })
        changeNotifier.checkJoins()
    }
}

/// A loop that runs `body` after each signal; signals that arrive during a run cause one more run.
struct SignalLoop: Service {
    private let signals: AsyncStream<Void>
    private let body: @Sendable () async -> Void

    init(_ signals: AsyncStream<Void>, _ body: @escaping @Sendable () async -> Void) {
        self.signals = signals
        self.body = body
    }

    func run() async {
        await cancelWhenGracefulShutdown { for await _ in signals { await body() } }
    }
}
