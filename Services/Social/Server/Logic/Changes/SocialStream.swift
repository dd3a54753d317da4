import Foundation
import Locks
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// What somebody hears of his networks as long as he listens, from a place in his journal on, in order and without a gap.
final class SocialStream: StreamEventSource {
    private static let window = 100

    private struct ItemEvent: Encodable {
        var list: NetworkEvent.List
        var network: Network
        var id: ItemID
        var item: Item?
    }

    /// Of an account whose tokens have ended for good.
    private struct AccountEvent: Encodable {
        var network: Network
        var id: ItemID
        var state: LinkState
    }

    private let subscriber: StreamSubscriber
    private let database: PostgresPool
    private let close: @Sendable () -> Void
    /// Nil until the first word.
    private let number: Lock<Int64?>
    private let lastEvent: Int64?

    init(
        _ subscriber: StreamSubscriber,
        after lastEvent: Int64?,
        database: PostgresPool,
        close: @escaping @Sendable () -> Void
    ) {
        self.subscriber = subscriber
        self.lastEvent = lastEvent
        self.database = database
        self.close = close
        number = Lock(nil)
    }

    // Where the answer could not even be begun, nobody else says that nobody listens.
    deinit { close() }

    func end() { close() }

    func next() async throws -> [StreamEvent]? {
        for await wake in subscriber.wakes {
            guard let number = number.withLock({ $0 }) else { return [try await begin()] }
            let events = try await subscriber.takeChanges() ? read(after: number) : []
            if !events.isEmpty { return events }
            if wake == .heartbeat { return [StreamEvent(id: Self.id(number))] }
        }
        return nil
    }

    private func begin() async throws -> StreamEvent {
        let last = try await ChangeStore(db: database).lastNumbers(of: [subscriber.user])[subscriber.user] ?? 0
        // What came while he was away is told by the first reading.
        subscriber.wake(.changes)
        guard let lastEvent, lastEvent != last else { return move(to: last, "ready") }
        let next = try await ChangeStore(db: database).changes(of: subscriber.user, after: lastEvent, limit: 1).first
        // Swept, or never said: he reads anew.
        guard lastEvent < last, next?.number == lastEvent + 1 else { return move(to: last, "reload") }
        return move(to: lastEvent, "ready")
    }

    private func move(to number: Int64, _ name: String) -> StreamEvent {
        self.number.withLock { $0 = number }
        return StreamEvent(id: Self.id(number), name: name, data: "{}")
    }

    private func read(after number: Int64) async throws -> [StreamEvent] {
        let changes = try await ChangeStore(db: database)
            .changes(of: subscriber.user, after: number, limit: Self.window)
        guard let first = changes.first, let last = changes.last else { return [] }
        // Places have no gap: what is missing was swept while he was slow.
        guard first.number == number + 1 else { return [move(to: last.number, "reload")] }
        self.number.withLock { $0 = last.number }
        if changes.count == Self.window { subscriber.wake(.changes) }
        return try changes.compactMap { numbered in
            guard let change = numbered.change else { return nil }
            guard let list = change.list else {
                let payload = AccountEvent(network: change.id.network, id: change.id, state: .reauthenticate)
                return try StreamEvent(id: Self.id(numbered.number), name: change.kind.rawValue, value: payload)
            }
            let payload = ItemEvent(list: list, network: change.id.network, id: change.id, item: change.item)
            return try StreamEvent(id: Self.id(numbered.number), name: change.kind.rawValue, value: payload)
        }
    }

    private static func id(_ number: Int64) -> String { "\(number)-0" }

    /// The place that an id of ours names; nil for what is none.
    static func number(_ id: String) -> Int64? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "0", let number = Int64(parts[0]), number >= 0 else { return nil }
        return number
    }
}
