import ConversationsAPI
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

// What the instance finds by itself, so that a doorbell which is lost costs a second and nothing else.
extension Delivery {
    /// So many conversations are looked at each second; where there are more, in turn.
    private static let sweepBatch = 20_000

    /// What goes on besides the bus.
    var backgroundServices: [any Service] {
        [
            PeriodicTask("sweep of conversations", every: .seconds(1), logger: logger, sweep),
            PeriodicTask("look for arrivals", every: .seconds(1), logger: logger) { [self] in
                changeNotifier.checkJoins()
            },
            PeriodicTask("pruning of arrivals", every: .seconds(10), logger: logger, pruneJoins),
            SignalLoop(changeNotifier.joins) { [self] in await checkJoins() },
            presences,
        ] + devices.backgroundServices
    }

    /// Looks at the heads of the conversations that somebody connected is in, in one statement.
    func sweep() async throws {
        let rooms = connections.openRooms(limit: Self.sweepBatch, from: sweepStart)
        guard !rooms.isEmpty else { return }
        // Not over the reads that all share: with many conversations it takes its time.
        let found = try await MemberHeadStore(db: database).ahead(of: rooms.map { ($0.conversation, $0.change) })
        let unnotified = found.filter { conversation, _ in connections.room(conversation)?.isIdle ?? false }
        lateRooms.increment(by: unnotified.count)
        changeNotifier.receive(Dictionary(found.map { ($0, $1 ?? Room.anyChange) }) { max($0, $1) })
    }

    /// The bus may have missed something: nothing of what it says is needed.
    func checkAllRooms() {
        changeNotifier.receive(Dictionary(connections.conversations.map { ($0, Room.anyChange) }) { max($0, $1) })
        changeNotifier.checkJoins()
    }
}

/// Does something again each time it is asked to, once for all who ask meanwhile.
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
