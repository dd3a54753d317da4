import Foundation
import Locks
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// What somebody hears of his networks as long as he listens, from a place in his journal on, in order and without a gap.
final class SocialStream: StreamEventSource {
    private static let window = 100

    private struct Told: Encodable {
        var list: NetworkEvent.List
        var network: Network
        var id: ItemID
        var item: Item?
    }

    /// Of an account whose tokens have ended for good.
    private struct AccountChange: Encodable {
        var network: Network
        var id: ItemID
        var state: LinkState
    }

    private let listener: StreamListener
    private let database: PostgresPool
    private let close: @Sendable () -> Void
    /// Nil until the first word.
    private let place: Lock<Int64?>
    private let asked: Int64?

    init(
        _ listener: StreamListener,
        after asked: Int64?,
        database: PostgresPool,
        close: @escaping @Sendable () -> Void
    ) {
        self.listener = listener
        self.asked = asked
        self.database = database
        self.close = close
        place = Lock(nil)
    }

    // Where the answer could not even be begun, nobody else says that nobody listens.
    deinit { close() }

    func end() { close() }

    func next() async throws -> [StreamEvent]? {
        for await wake in listener.wakes {
            guard let place = place.withLock({ $0 }) else { return [try await begin()] }
            let events = try await listener.takeNews() ? read(after: place) : []
            if !events.isEmpty { return events }
            if wake == .heartbeat { return [StreamEvent(id: Self.id(place))] }
        }
        return nil
    }

    private func begin() async throws -> StreamEvent {
        let last = try await JournalStore(db: database).lastPlaces(of: [listener.user])[listener.user] ?? 0
        // What came while he was away is told by the first reading.
        listener.wake(.news)
        guard let asked, asked != last else { return move(to: last, "ready") }
        let next = try await JournalStore(db: database).changes(of: listener.user, after: asked, limit: 1).first
        // Swept, or never said: he reads anew.
        guard asked < last, next?.place == asked + 1 else { return move(to: last, "reload") }
        return move(to: asked, "ready")
    }

    private func move(to place: Int64, _ name: String) -> StreamEvent {
        self.place.withLock { $0 = place }
        return StreamEvent(id: Self.id(place), name: name, data: "{}")
    }

    private func read(after place: Int64) async throws -> [StreamEvent] {
        let changes = try await JournalStore(db: database)
            .changes(of: listener.user, after: place, limit: Self.window)
        guard let first = changes.first, let last = changes.last else { return [] }
        // Places have no gap: what is missing was swept while he was slow.
        guard first.place == place + 1 else { return [move(to: last.place, "reload")] }
        self.place.withLock { $0 = last.place }
        if changes.count == Self.window { listener.wake(.news) }
        return try changes.compactMap { placed in
            guard let change = placed.change else { return nil }
            guard let list = change.list else {
                let told = AccountChange(network: change.id.network, id: change.id, state: .reauthenticate)
                return try StreamEvent(id: Self.id(placed.place), name: change.kind.rawValue, value: told)
            }
            let told = Told(list: list, network: change.id.network, id: change.id, item: change.item)
            return try StreamEvent(id: Self.id(placed.place), name: change.kind.rawValue, value: told)
        }
    }

    private static func id(_ place: Int64) -> String { "\(place)-0" }

    /// The place that an id of ours names; nil for what is none.
    static func place(_ id: String) -> Int64? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "0", let place = Int64(parts[0]), place >= 0 else { return nil }
        return place
    }
}
