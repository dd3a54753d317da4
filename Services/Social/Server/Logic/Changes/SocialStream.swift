import Foundation
import Locks
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// The stream of a user's changes, from a position in the change log on, in order and without a gap.
final class SocialStream: StreamEventSource {
    private static let window = 100

    private struct ItemEvent: Encodable {
        var list: NetworkEvent.List
        var network: Network
        var id: ItemID
        var item: Item?
    }

    /// The event for an account that the user must link again.
    private struct AccountEvent: Encodable {
        var network: Network
        var id: ItemID
        var state: LinkState
    }

    private let subscriber: StreamSubscriber
    private let database: PostgresPool
    private let close: @Sendable () -> Void
    /// The number of the last change sent; nil before the first event.
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

    // If the response never starts, nothing else removes the subscriber.
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
        // The first read returns the changes since the client's last event.
        subscriber.wake(.changes)
        guard let lastEvent, lastEvent != last else { return move(to: last, "ready") }
        let next = try await ChangeStore(db: database).changes(of: subscriber.user, after: lastEvent, limit: 1).first
        // The next change was deleted by retention, or the id was never sent: the client must reload.
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
        // Change numbers have no gaps: a missing change was deleted by retention because this client was slow.
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

    /// Returns the change number in an event id; nil if the id is malformed.
    static func number(_ id: String) -> Int64? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "0", let number = Int64(parts[0]), number >= 0 else { return nil }
        return number
    }
}
