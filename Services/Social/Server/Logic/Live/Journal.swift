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

    /// Records what the newest page of a list says; returns how many changes there are.
    ///
    /// `messages` has what was read of changed threads, by the native id of the thread's item.
    func take(_ page: [Item], messages: [String: ThreadMessages] = [:], of key: WatchKey) async throws -> Int {
        try await change(key) { try $0.take(page, messages: messages, of: key) }
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

    /// Ends the tokens of an account for good, and records that once.
    func giveUp(_ record: AccountRecord) async throws {
        let isNew = try await database.transaction { db in
            // The account is locked first, as the deletion of a user locks them; without it nothing is written.
            guard try await AccountStore(db: db).endTokens(of: record) else { return false }
            let last = try await JournalStore(db: db).lock(record.user)
            let change = ItemChange.reauthenticate(record)
            let pushes: [ChangePush] = [tellsPush ? .alert : .none]
            try await JournalStore(db: db).append([change], pushes, of: record.user, after: last, now: now())
            return true
        }
        if isNew { ring(record.user) }
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
            let pushes = try await pushes(of: changes, of: key, in: db)
            try await journal.append(changes, pushes, of: key.user, after: last, now: now())
            return changes.count
        }
        if count > 0 { ring(key.user) }
        return count
    }

    /// What push receives of changes, in their order: what others say alerts, everything else is silent.
    ///
    /// A silent change is only recorded for a user with a device, since nothing else can receive it.
    private func pushes(
        of changes: [ItemChange],
        of key: WatchKey,
        in db: PostgresTransaction
    ) async throws -> [ChangePush] {
        guard tellsPush else { return changes.map { _ in .none } }
        let own = try await AccountStore(db: db).names(of: key.user, on: key.network)
        let alerts = changes.map { $0.isNews && !own.contains($0.item?.author) }
        let hasDevice = alerts.contains(false) ? try await PresenceStore(db: db).hasDevice(key.user) : false
        return alerts.map { $0 ? .alert : hasDevice ? .silent : .none }
    }
}

/// What push receives of a change.
enum ChangePush: Sendable {
    case none, silent, alert
}

extension KeptWatch {
    /// Takes note of the newest page of a list; what is new, changed or gone, from the oldest on, as it happened.
    mutating func take(
        _ page: [Item],
        messages: [String: ThreadMessages] = [:],
        of key: WatchKey
    ) throws -> [ItemChange] {
        var changes: [ItemChange] = []
        for id in isBegun && key.list == .feed ? seen.missing(from: page) : [] {
            _ = seen.remove(id)
            changes.append(ItemChange(kind: .deleted, list: key.list, id: ItemID(key.network, id)))
        }
        let newest = seen.newestThread
        for item in page.reversed() {
            if item.isReadableThread {
                changes += try take(thread: item, messages[item.id.native], since: newest)
            } else if let change = try seen.take(item, of: key.list), isBegun {
                changes.append(change)
            }
        }
        isBegun = true
        return changes
    }

    /// The threads of a page whose messages have to be read before the page is taken.
    func threadsToRead(of page: [Item]) throws -> [Item] {
        // The first poll only notes what is there.
        guard isBegun else { return [] }
        let newest = seen.newestThread
        return try page.filter { try $0.isReadableThread && seen.mayHaveNewMessages($0, since: newest) }
    }

    private mutating func take(
        thread: Item,
        _ messages: ThreadMessages?,
        since newest: Int64?
    ) throws -> [ItemChange] {
        guard isBegun, try seen.mayHaveNewMessages(thread, since: newest) else {
            if seen.items[thread.id.native] == nil { try seen.note(thread) }
            return []
        }
        switch messages {
        // More threads changed than one poll reads: the next poll reads this one, from the same time on.
        case nil:
            seen.postpone(thread, since: newest)
            return []
        case .unreadable: return try seen.take(thread, of: .messages).map { [$0] } ?? []
        case .read(let messages):
            return try seen.take(thread, messages: messages.map { $0.named(by: thread) }, since: newest)
        }
    }
}

extension Item {
    /// Whether this is a thread whose messages can be read.
    fileprivate var isReadableThread: Bool { kind == .thread && thread != nil }

    /// With the author as the thread names the person, where the message has an id alone.
    fileprivate func named(by thread: Item) -> Item {
        guard let author, author.isNameless,
            let person = thread.participants?.first(where: { $0.id == author.id && !$0.isNameless })
        else { return self }
        var item = self
        item.author = person
        return item
    }
}
