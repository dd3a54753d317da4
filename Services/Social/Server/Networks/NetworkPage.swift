import Foundation
import SocialAPI
import Wire

/// What of a list is asked for.
struct PageRequest: Hashable, Sendable {
    /// From the page before; nil is the newest page.
    var cursor: NetworkCursor?
    /// How many are wanted; a network may give fewer or more.
    var limit: Int
    /// Whether items are to carry their `raw`.
    var includesRaw: Bool

    init(cursor: NetworkCursor? = nil, limit: Int = 20, includesRaw: Bool = false) {
        self.cursor = cursor
        self.limit = limit
        self.includesRaw = includesRaw
    }
}

/// A page of a network's list, in the network's own order, the newest first (also of messages).
struct NetworkPage: Hashable, Sendable {
    var items: [NetworkItem]
    /// Where the next page begins; nil at the end.
    ///
    /// A page may be empty and have a next.
    var next: NetworkCursor?
    /// What the network said of its limits in this answer.
    var budget: Budget?

    init(_ items: [NetworkItem], next: NetworkCursor? = nil, budget: Budget? = nil) {
        self.items = items
        self.next = next
        self.budget = budget
    }
}

/// An item with what only the merge needs to know of it.
struct NetworkItem: Hashable, Sendable {
    var item: Item
    /// What copies of one post have in common, on all networks that know them; nil is its own item id.
    ///
    /// The URI of a status (Mastodon's `uri`, `at://…`), or the item id of the original of a retweet, boost or reblog.
    var original: String?

    init(_ item: Item, original: String? = nil) {
        self.item = item
        self.original = original
    }
}

/// Where a connector goes on in a list: any JSON of its own, opaque to everybody else.
///
/// It travels in a signed cursor to the client and back, so it is small (≤ 1,024 bytes of JSON) and holds no secret: a
/// next-page URL goes in without its tokens, and is followed only to the network's own hosts.
struct NetworkCursor: Hashable, Sendable, Codable {
    let value: JSONValue

    init(_ position: some Encodable) throws {
        value = try JSONParser.parse(WireJSON.encoder().encode(position))
    }

    /// - Throws: `NetworkError` of class `invalid` for one that another version of the connector made.
    func read<Position: Decodable>(as type: Position.Type = Position.self) throws -> Position {
        do {
            return try WireJSON.decoder().decode(type, from: value.compact())
        } catch {
            throw NetworkError(.invalid, "the position in the list is not known any more")
        }
    }

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(JSONValue.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
