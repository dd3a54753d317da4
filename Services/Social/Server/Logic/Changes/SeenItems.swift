import Crypto
import Foundation
import SocialAPI
import Wire

/// The state of a list at its last poll, by which the next poll detects new, changed and deleted items.
struct SeenItems: Codable, Hashable, Sendable {
    private static let capacity = 200

    struct Mark: Codable, Hashable, Sendable {
        /// The item's time in milliseconds since 1970.
        var t: Int64
        /// A hash of the visible content; counters, such as likes, are not included.
        var h: String
        /// `m` for a message; nil for everything else.
        var k: String?
        /// The time of the newest message, for a thread whose messages were read.
        var m: Int64?

        var isMessage: Bool { k == "m" }
    }

    private(set) var items: [String: Mark] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        items = try decoder.singleValueContainer().decode([String: Mark].self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(items)
    }

    /// Records an item of a list; returns its change, or nil if nothing has changed.
    ///
    /// A known message is never new content, because a webhook and a poll may give it different times.
    mutating func record(_ item: Item, of list: NetworkEvent.List) throws -> ItemChange? {
        let isMessage = item.kind == .message
        let mark = Mark(t: item.time, h: try Self.hash(item), k: isMessage ? "m" : nil)
        let previous = items.updateValue(mark, forKey: item.id.native)
        forgetOldest()
        var change = ItemChange(kind: .created, list: list, id: item.id, item: item, isNewContent: true)
        guard let previous else { return change }
        guard previous.h != mark.h else { return nil }
        // A thread has the time of its latest message.
        (change.kind, change.isNewContent) = (.updated, !isMessage && previous.t < mark.t)
        return change
    }

    /// Removes an item; returns false if it was not known.
    mutating func remove(_ id: String) -> Bool { items.removeValue(forKey: id) != nil }

    /// Returns the ids that should be on the newest page but are not.
    ///
    /// Only items newer than the page's oldest count, since older items may be on the next page.
    func missing(from page: [Item]) -> [String] {
        guard let oldest = page.map(\.time).min() else { return [] }
        let there = Set(page.map(\.id.native))
        return items.filter { $0.value.t > oldest && !there.contains($0.key) }.map(\.key).sorted()
    }

    private mutating func forgetOldest() {
        guard items.count > Self.capacity else { return }
        let oldest = items.sorted { ($0.value.t, $0.key) < ($1.value.t, $1.key) }.prefix(items.count - Self.capacity)
        for (id, _) in oldest { items[id] = nil }
    }

    private static func hash(_ item: Item) throws -> String {
        // A webhook and a poll give the same message with different URLs of its files.
        let seen =
            item.kind == .message
            ? [item.text]
            : [
                item.text, item.media.map(\.url).joined(separator: " "), item.location?.name ?? "",
                "\(item.unread ?? 0)", item.updatedAt.map { Timestamp.string(from: $0) } ?? "",
            ]
        return Base64URL.encode(Data(SHA256.hash(data: try WireJSON.encoder().encode(seen))).prefix(9))
    }
}

extension SeenItems {
    /// The time of the newest thread that a poll has seen.
    ///
    /// A message in an unknown thread is new if it is not older: every older thread was on an earlier page.
    var newestThread: Int64? { items.values.lazy.filter { !$0.isMessage }.map(\.t).max() }

    /// Returns whether the messages of a thread must be read to find the new ones.
    func mayHaveNewMessages(_ thread: Item, since newest: Int64?) throws -> Bool {
        guard let previous = items[thread.id.native] else { return newest.map { thread.time >= $0 } ?? true }
        let hash = try Self.hash(thread)
        return previous.t < thread.time || previous.h != hash
    }

    /// Records an unknown thread with an earlier time than its own, so that the next poll reads its messages.
    mutating func postpone(_ thread: Item, since newest: Int64?) {
        guard items[thread.id.native] == nil else { return }
        items[thread.id.native] = Mark(t: max(newest ?? 0, 1) - 1, h: "")
        forgetOldest()
    }

    /// Records a thread without reading its messages.
    mutating func note(_ thread: Item) throws {
        items[thread.id.native] = Mark(t: thread.time, h: try Self.hash(thread), m: items[thread.id.native]?.m)
        forgetOldest()
    }

    /// Records the newest messages of a thread; returns the changes, oldest first.
    ///
    /// `newest` is ``newestThread`` before this page.
    mutating func record(_ thread: Item, messages: [Item], since newest: Int64?) throws -> [ItemChange] {
        let previous = items[thread.id.native]
        var changes: [ItemChange] = []
        for message in messages.sorted(by: { $0.createdAt < $1.createdAt }) {
            let isNew =
                if let read = previous?.m {
                    message.time >= read
                } else if let previous {
                    message.time > previous.t
                } else {
                    newest.map { message.time >= $0 } ?? true
                }
            guard isNew || items[message.id.native] != nil else { continue }
            if let change = try record(message, of: .messages) { changes.append(change) }
        }
        let read = (messages.map(\.time) + [previous?.m].compactMap(\.self)).max()
        let mark = Mark(t: thread.time, h: try Self.hash(thread), m: read)
        items[thread.id.native] = mark
        forgetOldest()
        // New messages are published without a change of the thread. Otherwise the thread has changed, e.g. its unread
        // count.
        if let previous, changes.isEmpty, previous.t == mark.t, previous.h != mark.h {
            changes.append(ItemChange(kind: .updated, list: .messages, id: thread.id, item: thread))
        }
        return changes
    }
}

/// The messages of a thread that has changed according to a poll.
enum ThreadMessages: Sendable {
    case read([Item])
    /// The network lists the thread but does not return its messages.
    case unreadable
}

struct ItemChange: Hashable, Sendable {
    enum Kind: String, Codable, Sendable {
        case created, updated, deleted
        /// The tokens of the account no longer work; the user must link the account again.
        case reauthenticate
    }

    var kind: Kind
    /// Nil for a change of the account itself.
    var list: NetworkEvent.List?
    var id: ItemID
    /// Nil for a deleted item.
    var item: Item?
    /// Whether there is new content rather than an edit: a new item, or another message in a thread.
    var isNewContent = false
    /// Whether push alerts the user of a recorded change; otherwise the push is silent.
    var isAlert = true
}

extension ItemChange {
    /// Returns the change for an account that the user must link again.
    static func reauthenticate(_ record: AccountRecord) -> ItemChange {
        ItemChange(
            kind: .reauthenticate,
            list: nil,
            id: ItemID(record.network, record.nativeID ?? "account"),
            isNewContent: true
        )
    }
}
