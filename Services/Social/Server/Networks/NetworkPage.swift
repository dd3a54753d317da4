import Foundation
import SocialAPI
import Wire

struct PageRequest: Hashable, Sendable {
    /// The cursor from the previous page; nil for the newest page.
    var cursor: NetworkCursor?
    /// The requested number of items; a network may return fewer or more.
    var limit: Int
    var includesRaw: Bool

    init(cursor: NetworkCursor? = nil, limit: Int = 20, includesRaw: Bool = false) {
        self.cursor = cursor
        self.limit = limit
        self.includesRaw = includesRaw
    }
}

/// A page of a network's list in the network's own order, newest first (including messages).
struct NetworkPage: Hashable, Sendable {
    var items: [NetworkItem]
    /// The cursor of the next page; nil at the end.
    ///
    /// An empty page may have a next page.
    var next: NetworkCursor?
    var budget: Budget?

    init(_ items: [NetworkItem], next: NetworkCursor? = nil, budget: Budget? = nil) {
        self.items = items
        self.next = next
        self.budget = budget
    }
}

/// An item with data that only the merge needs.
struct NetworkItem: Hashable, Sendable {
    var item: Item
    /// The key by which the merge recognises copies of one post; nil to use the item's own id.
    ///
    /// Mastodon and Bluesky: the URI of the post, or of the original of a boost or repost. Twitter and Tumblr: the item
    /// id of the original of a retweet or reblog.
    var original: String?

    init(_ item: Item, original: String? = nil) {
        self.item = item
        self.original = original
    }
}

/// A connector's position in a list: JSON that no other code interprets.
///
/// The client receives it in a signed cursor and sends it back. It must be small (≤ 1,024 bytes of JSON) and contain no
/// secrets. The URL of a next page is stored without tokens, and is only followed to the network's own hosts.
struct NetworkCursor: Hashable, Sendable, Codable {
    let value: JSONValue

    init(_ position: some Encodable) throws {
        value = try JSONParser.parse(WireJSON.encoder().encode(position))
    }

    /// - Throws: `NetworkError` of class `invalid` for a position from another release of the connector.
    func read<Position: Decodable>(as type: Position.Type = Position.self) throws -> Position {
        do {
            return try WireJSON.decoder().decode(type, from: value.compact())
        } catch {
            throw NetworkError(.invalid, "the position in the list is no longer valid")
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
