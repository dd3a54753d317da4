package import Foundation
package import Wire

/// An entry of a network in the shape that all networks share: a post, a thread, a message or a notification.
///
/// `raw` has everything else that the network sent; the client requests it explicitly.
package struct Item: Codable, Hashable, Sendable, Identifiable {
    package var id: ItemID
    package var network: Network { id.network }
    package var kind: ItemKind
    /// The user who wrote or caused the item; null if the network does not name the user (a deleted account).
    package var author: ItemAuthor?
    /// Plain text without markup and with entities decoded; empty if there is none.
    package var text: String
    package var media: [ItemMedia]
    package var location: ItemLocation?
    package var createdAt: Date
    /// The time of the last change, if the network provides it.
    package var updatedAt: Date?
    /// The item's web page on the network.
    package var url: String?
    package var stats: ItemStats
    /// Whether the account has liked or favourited the item; null if the network does not say.
    package var liked: Bool?
    /// The item that this one reposts, quotes, replies to or is about.
    package var about: ItemReference?
    /// The native id of a message's thread; for a thread, its own id.
    package var thread: String?
    /// The other members of a thread.
    package var participants: [ItemAuthor]?
    /// The number of unread messages of a thread; 1 or 0 for a message or a notification; null if it is unknown.
    package var unread: Int?
    /// Copies of the same post on other networks, which are not listed separately.
    package var copies: [ItemReference]?
    /// The network's original JSON.
    package var raw: JSONValue?

    package init(
        id: ItemID,
        kind: ItemKind,
        author: ItemAuthor? = nil,
        text: String = "",
        media: [ItemMedia] = [],
        location: ItemLocation? = nil,
        createdAt: Date,
        updatedAt: Date? = nil,
        url: String? = nil,
        stats: ItemStats = ItemStats(),
        liked: Bool? = nil,
        about: ItemReference? = nil,
        thread: String? = nil,
        participants: [ItemAuthor]? = nil,
        unread: Int? = nil,
        copies: [ItemReference]? = nil,
        raw: JSONValue? = nil
    ) {
        self.id = id
        self.kind = kind
        self.author = author
        self.text = text
        self.media = media
        self.location = location
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.url = url
        self.stats = stats
        self.liked = liked
        self.about = about
        self.thread = thread
        self.participants = participants
        self.unread = unread
        self.copies = copies
        self.raw = raw
    }
}

package enum ItemKind: String, Codable, Sendable {
    // Kinds in a feed.
    case post, reply, quote
    /// A repost of another user's post (retweet, boost, reblog); `about` refers to the original.
    case repost
    // Kinds among messages.
    case thread, message
    // Kinds among notifications, in addition to those above. A favourite is a `like`.
    case like, comment, mention, follow, reaction, tag
    /// A notification of a kind that only one network has.
    case other
}

extension Item {
    private enum CodingKeys: String, CodingKey {
        case id, network, kind, author, text, media, location, createdAt, updatedAt, url, stats, liked, about
        case thread, participants, unread, copies, raw
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try values.decode(ItemID.self, forKey: .id),
            kind: try values.decode(ItemKind.self, forKey: .kind),
            author: try values.decodeIfPresent(ItemAuthor.self, forKey: .author),
            text: try values.decode(String.self, forKey: .text),
            media: try values.decode([ItemMedia].self, forKey: .media),
            location: try values.decodeIfPresent(ItemLocation.self, forKey: .location),
            createdAt: try values.decode(Date.self, forKey: .createdAt),
            updatedAt: try values.decodeIfPresent(Date.self, forKey: .updatedAt),
            url: try values.decodeIfPresent(String.self, forKey: .url),
            stats: try values.decode(ItemStats.self, forKey: .stats),
            liked: try values.decodeIfPresent(Bool.self, forKey: .liked),
            about: try values.decodeIfPresent(ItemReference.self, forKey: .about),
            thread: try values.decodeIfPresent(String.self, forKey: .thread),
            participants: try values.decodeIfPresent([ItemAuthor].self, forKey: .participants),
            unread: try values.decodeIfPresent(Int.self, forKey: .unread),
            copies: try values.decodeIfPresent([ItemReference].self, forKey: .copies),
            raw: try values.decodeIfPresent(JSONValue.self, forKey: .raw)
        )
    }

    /// Encodes every field of the contract, null if it has no value; fields beyond the contract only with a value.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encode(network, forKey: .network)
        try values.encode(kind, forKey: .kind)
        try values.encode(author, forKey: .author)
        try values.encode(text, forKey: .text)
        try values.encode(media, forKey: .media)
        try values.encode(location, forKey: .location)
        try values.encode(createdAt, forKey: .createdAt)
        try values.encodeIfPresent(updatedAt, forKey: .updatedAt)
        try values.encode(url, forKey: .url)
        try values.encode(stats, forKey: .stats)
        try values.encode(liked, forKey: .liked)
        try values.encodeIfPresent(about, forKey: .about)
        try values.encodeIfPresent(thread, forKey: .thread)
        try values.encodeIfPresent(participants, forKey: .participants)
        try values.encodeIfPresent(unread, forKey: .unread)
        try values.encodeIfPresent(copies, forKey: .copies)
        try values.encodeIfPresent(raw, forKey: .raw)
    }
}
