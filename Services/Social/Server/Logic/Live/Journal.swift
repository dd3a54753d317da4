import Foundation
import Postgres
import SocialAPI
import Wire

/// Writes down what changes for people, each thing once, whoever says so: a look, a webhook or a stream.
struct Journal: Sendable {
    let database: PostgresPool
    /// Whether push is to be told.
    let tellsPush: Bool
    let now: @Sendable () -> Date
    /// Somebody has something new to hear.
    let ring: @Sendable (User.ID) -> Void

    /// What the newest page of a list says; answers how many things are new to us.
    func take(_ page: [Item], of key: WatchKey) async throws -> Int {
        try await change(key) { try $0.take(page, of: key) }
    }

    /// What a network tells by itself.
    func take(_ event: NetworkEvent.Change, of key: WatchKey) async throws {
        switch event {
        case .ping: try await WatchStore(db: database).hurry(key, now: now())
        case .created(let item), .updated(let item):
            _ = try await change(key) { watch in
                try watch.seen.take(item.item, of: key.list).map { [$0] } ?? []
            }
        case .deleted(let id):
            _ = try await change(key) { watch in
                // Gone before we knew of it: nobody was told of it either.
                guard watch.seen.remove(id) else { return [] }
                return [ItemChange(kind: .deleted, list: key.list, id: ItemID(key.network, id))]
            }
        }
    }

    private func change(
        _ key: WatchKey,
        _ body: (inout WatchStore<PostgresTransaction>.Watch) throws -> [ItemChange]
    ) async throws -> Int {
        let count = try await database.transaction { db in
            let journal = JournalStore(db: db)
            let last = try await journal.lock(key.user)
            let store = WatchStore(db: db)
            // Unlinked in between: it is of no interest any more.
            guard var watch = try await store.lock(key) else { return 0 }
            let changes = try body(&watch)
            try await store.keep(watch, of: key)
            guard !changes.isEmpty else { return 0 }
            let told = try await news(among: changes, of: key, in: db)
            try await journal.append(changes, of: key.user, after: last, now: now(), telling: told)
            return changes.count
        }
        if count > 0 { ring(key.user) }
        return count
    }

    /// What push is told of: what somebody says, and not one's own doing.
    private func news(
        among changes: [ItemChange],
        of key: WatchKey,
        in db: PostgresTransaction
    ) async throws -> Set<ItemID> {
        let said = changes.filter(\.isNews)
        guard tellsPush, !said.isEmpty else { return [] }
        let own = try await AccountStore(db: db).names(of: key.user, on: key.network)
        return Set(said.filter { !own.contains($0.item?.author) }.map(\.id))
    }
}

extension KeptWatch {
    /// Takes note of the newest page of a list; what is new, changed or gone, from the oldest on, as it happened.
    mutating func take(_ page: [Item], of key: WatchKey) throws -> [ItemChange] {
        var changes: [ItemChange] = []
        for id in isBegun && key.list == .feed ? seen.missing(from: page) : [] {
            _ = seen.remove(id)
            changes.append(ItemChange(kind: .deleted, list: key.list, id: ItemID(key.network, id)))
        }
        for item in page.reversed() {
            guard let change = try seen.take(item, of: key.list), isBegun else { continue }
            changes.append(change)
        }
        isBegun = true
        return changes
    }
}
