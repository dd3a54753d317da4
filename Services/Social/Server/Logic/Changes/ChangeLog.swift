import Foundation
import Postgres
import SocialAPI
import Wire

/// The log of changes per user.
///
/// Records each change once, whether a poll, a webhook or a network's stream reports it.
struct ChangeLog: Sendable {
    let database: PostgresPool
    let notifiesPush: Bool
    let now: @Sendable () -> Date
    /// Called after changes of a user were recorded.
    let notify: @Sendable (User.ID) -> Void

    /// Records the newest page of a list; returns the number of changes.
    ///
    /// `messages` has the messages of changed threads, by the native id of the thread's item.
    func record(_ page: [Item], messages: [String: ThreadMessages] = [:], of key: PolledListKey) async throws -> Int {
        try await change(key) { try $0.record(page, messages: messages, of: key) }
    }

    /// Records an event from a network's webhook or stream.
    func record(_ event: NetworkEvent.Change, of key: PolledListKey) async throws {
        switch event {
        case .ping: try await PollStore(db: database).pollSoon(key, now: now())
        case .created(let item), .updated(let item):
            _ = try await change(key) { polledList in
                try polledList.seen.record(item.item, of: key.list).map { [$0] } ?? []
            }
        case .deleted(let id):
            _ = try await change(key) { polledList in
                // An item that was deleted before a poll saw it was never published.
                guard polledList.seen.remove(id) else { return [] }
                return [ItemChange(kind: .deleted, list: key.list, id: ItemID(key.network, id))]
            }
        }
    }

    /// Records once that the user must link an account again, because its tokens no longer work.
    func requireReauthentication(_ record: AccountRecord) async throws {
        let isNew = try await database.transaction { db in
            // The account's row is locked first, in the same order as by an account deletion. Without the row nothing
            // is written.
            guard try await AccountStore(db: db).endTokens(of: record) else { return false }
            let last = try await ChangeStore(db: db).lock(record.user)
            let change = ItemChange.reauthenticate(record)
            let pushes: [ChangePush] = [notifiesPush ? .alert : .none]
            try await ChangeStore(db: db).append([change], pushes, of: record.user, after: last, now: now())
            return true
        }
        if isNew { notify(record.user) }
    }

    private func change(
        _ key: PolledListKey,
        _ body: (inout PollStore<PostgresTransaction>.List) throws -> [ItemChange]
    ) async throws -> Int {
        let count = try await database.transaction { db in
            let changeLog = ChangeStore(db: db)
            let last = try await changeLog.lock(key.user)
            let store = PollStore(db: db)
            // The account was unlinked in the meantime.
            guard var polledList = try await store.lock(key) else { return 0 }
            let changes = try body(&polledList)
            try await store.save(polledList, of: key)
            guard !changes.isEmpty else { return 0 }
            let pushes = try await pushes(of: changes, of: key, in: db)
            try await changeLog.append(changes, pushes, of: key.user, after: last, now: now())
            return changes.count
        }
        if count > 0 { notify(key.user) }
        return count
    }

    /// Returns what push receives for each change: an alert for new content of other users, otherwise a silent push.
    ///
    /// A silent push is only stored for a user with a device, since nothing else can receive it.
    private func pushes(
        of changes: [ItemChange],
        of key: PolledListKey,
        in db: PostgresTransaction
    ) async throws -> [ChangePush] {
        guard notifiesPush else { return changes.map { _ in .none } }
        let own = try await AccountStore(db: db).names(of: key.user, on: key.network)
        let alerts = changes.map { $0.isNewContent && !own.contains($0.item?.author) }
        let hasDevice = alerts.contains(false) ? try await PresenceStore(db: db).hasDevice(key.user) : false
        return alerts.map { $0 ? .alert : hasDevice ? .silent : .none }
    }
}

enum ChangePush: Sendable {
    case none, silent, alert
}

extension PolledList {
    /// Records the newest page of a list; returns the deleted items, and then new and updated items from the oldest on.
    mutating func record(
        _ page: [Item],
        messages: [String: ThreadMessages] = [:],
        of key: PolledListKey
    ) throws -> [ItemChange] {
        var changes: [ItemChange] = []
        for id in hasBaseline && key.list == .feed ? seen.missing(from: page) : [] {
            _ = seen.remove(id)
            changes.append(ItemChange(kind: .deleted, list: key.list, id: ItemID(key.network, id)))
        }
        let newest = seen.newestThread
        for item in page.reversed() {
            if item.isReadableThread {
                changes += try record(thread: item, messages[item.id.native], since: newest)
            } else if let change = try seen.record(item, of: key.list), hasBaseline {
                changes.append(change)
            }
        }
        hasBaseline = true
        return changes
    }

    /// Returns the threads of a page whose messages must be read before the page is recorded.
    func threadsToRead(of page: [Item]) throws -> [Item] {
        // The first poll only records the current state.
        guard hasBaseline else { return [] }
        let newest = seen.newestThread
        return try page.filter { try $0.isReadableThread && seen.mayHaveNewMessages($0, since: newest) }
    }

    private mutating func record(
        thread: Item,
        _ messages: ThreadMessages?,
        since newest: Int64?
    ) throws -> [ItemChange] {
        guard hasBaseline, try seen.mayHaveNewMessages(thread, since: newest) else {
            if seen.items[thread.id.native] == nil { try seen.note(thread) }
            return []
        }
        switch messages {
        // This poll has read the maximum number of threads; the next poll reads this one, from the same time on.
        case nil:
            seen.postpone(thread, since: newest)
            return []
        case .unreadable: return try seen.record(thread, of: .messages).map { [$0] } ?? []
        case .read(let messages):
            return try seen.record(thread, messages: messages.map { $0.named(by: thread) }, since: newest)
        }
    }
}

extension Item {
    fileprivate var isReadableThread: Bool { kind == .thread && thread != nil }

    /// Returns the message with the author as named by the thread, if the message has only the author's id.
    fileprivate func named(by thread: Item) -> Item {
        guard let author, author.isNameless,
            let person = thread.participants?.first(where: { $0.id == author.id && !$0.isNameless })
        else { return self }
        var item = self
        item.author = person
        return item
    }
}
