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
    mutating func take(_ item: Item, of list: NetworkEvent.List) throws -> ItemChange? {
        let mark = Mark(t: item.time, h: try Self.hash(item))
        let known = items.updateValue(mark, forKey: item.id.native)
        forgetOldest()
        var change = ItemChange(kind: .created, list: list, id: item.id, item: item, isNews: true)
        guard let known else { return change }
        guard known.h != mark.h else { return nil }
        // A thread is of the time of its latest message.
        (change.kind, change.isNews) = (.updated, known.t < mark.t)
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
        let seen = [
            item.text, item.media.map(\.url).joined(separator: " "), item.location?.name ?? "", "\(item.unread ?? 0)",
            item.updatedAt.map { Timestamp.string(from: $0) } ?? "",
        ]
        return Base64URL.encode(Data(SHA256.hash(data: try WireJSON.encoder().encode(seen))).prefix(9))
    }
}

/// Something that changed on one of somebody's networks.
struct ItemChange: Hashable, Sendable {
    enum Kind: String, Codable, Sendable { case created, updated, deleted }

    var kind: Kind
    var list: NetworkEvent.List
    var id: ItemID
    /// Nil of what is gone.
    var item: Item?
    /// Whether something was said, and not only corrected: what was not there before, or another message in a thread.
    var isNews = false
}
