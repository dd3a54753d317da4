import Crypto
import Foundation
import SocialAPI
import Wire

/// A list as it was when it was looked at last: enough to tell what is new, changed or gone.
struct SeenItems: Codable, Hashable, Sendable {
    /// How many are remembered.
    private static let capacity = 200

    struct Mark: Codable, Hashable, Sendable {
        /// Milliseconds since 1970.
        var t: Int64
        /// A hash of what people see of it; counts of likes are none of that.
        var h: String
        /// `m` for a message; nil for everything else.
        var k: String?
        /// Of a thread whose messages were read: the time of the newest message.
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

    /// Takes note of an item of a list: what is new of it; nil where nothing is.
    ///
    /// A message that is known already is never news: a webhook and a poll may give it different times.
    mutating func record(_ item: Item, of list: NetworkEvent.List) throws -> ItemChange? {
        let isMessage = item.kind == .message
        let mark = Mark(t: item.time, h: try Self.hash(item), k: isMessage ? "m" : nil)
        let known = items.updateValue(mark, forKey: item.id.native)
        forgetOldest()
        var change = ItemChange(kind: .created, list: list, id: item.id, item: item, isNewContent: true)
        guard let known else { return change }
        guard known.h != mark.h else { return nil }
        // A thread is of the time of its latest message.
        (change.kind, change.isNewContent) = (.updated, !isMessage && known.t < mark.t)
        return change
    }

    /// False: it was not known.
    mutating func remove(_ id: String) -> Bool { items.removeValue(forKey: id) != nil }

    /// What should be on the newest page, and is not any more.
    ///
    /// Only what is newer than the page's oldest: what is older may be on the next.
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
        // A webhook and a poll give the same message with different addresses of its files.
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

    /// Whether the messages of a thread have to be read to find out what is new in it.
    func mayHaveNewMessages(_ thread: Item, since newest: Int64?) throws -> Bool {
        guard let known = items[thread.id.native] else { return newest.map { thread.time >= $0 } ?? true }
        let hash = try Self.hash(thread)
        return known.t < thread.time || known.h != hash
    }

    /// Keeps an unknown thread as older than it is, so that the next poll reads its messages.
    mutating func postpone(_ thread: Item, since newest: Int64?) {
        guard items[thread.id.native] == nil else { return }
        items[thread.id.native] = Mark(t: max(newest ?? 0, 1) - 1, h: "")
        forgetOldest()
    }

    /// Notes a thread without reading its messages.
    mutating func note(_ thread: Item) throws {
        items[thread.id.native] = Mark(t: thread.time, h: try Self.hash(thread), m: items[thread.id.native]?.m)
        forgetOldest()
    }

    /// Takes note of the newest messages of a thread; returns the changes, oldest first.
    ///
    /// `newest` is ``newestThread`` before this page.
    mutating func record(_ thread: Item, messages: [Item], since newest: Int64?) throws -> [ItemChange] {
        let known = items[thread.id.native]
        var changes: [ItemChange] = []
        for message in messages.sorted(by: { $0.createdAt < $1.createdAt }) {
            let isNew =
                if let read = known?.m {
                    message.time >= read
                } else if let known {
                    message.time > known.t
                } else {
                    newest.map { message.time >= $0 } ?? true
                }
            guard isNew || items[message.id.native] != nil else { continue }
            if let change = try record(message, of: .messages) { changes.append(change) }
        }
        let read = (messages.map(\.time) + [known?.m].compactMap(\.self)).max()
        let mark = Mark(t: thread.time, h: try Self.hash(thread), m: read)
        items[thread.id.native] = mark
        forgetOldest()
        // A thread with another message is told by the message alone; what remains is, for example, its unread count.
        if let known, changes.isEmpty, known.t == mark.t, known.h != mark.h {
            changes.append(ItemChange(kind: .updated, list: .messages, id: thread.id, item: thread))
        }
        return changes
    }
}

/// The messages of a thread that a poll found changed.
enum ThreadMessages: Sendable {
    case read([Item])
    /// The network has the thread in its list and does not give its messages.
    case unreadable
}

/// Something that changed on one of somebody's networks.
struct ItemChange: Hashable, Sendable {
    enum Kind: String, Codable, Sendable {
        case created, updated, deleted
        /// The tokens of the account have ended for good: only the user can help, by linking again.
        case reauthenticate
    }

    var kind: Kind
    /// Nil of a change of the account itself.
    var list: NetworkEvent.List?
    var id: ItemID
    /// Nil of what is gone.
    var item: Item?
    /// Whether something was said, and not only corrected: what was not there before, or another message in a thread.
    var isNewContent = false
    /// Whether push alerts the user, of a recorded change; else the push is silent.
    var isAlert = true
}

extension ItemChange {
    /// The tokens of an account have ended for good.
    static func reauthenticate(_ record: AccountRecord) -> ItemChange {
        ItemChange(
            kind: .reauthenticate,
            list: nil,
            id: ItemID(record.network, record.nativeID ?? "account"),
            isNewContent: true
        )
    }
}
