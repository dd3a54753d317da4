package import Foundation
package import Wire

/// Something of a network in the one shape that all of them have: a post, a thread, a message or a notification.
///
/// What the shape has no place for is in `raw`, which a request asks for.
package struct Item: Codable, Hashable, Sendable, Identifiable {
    package var id: ItemID
    package var network: Network { id.network }
    package var kind: ItemKind
    /// Who wrote it or caused it; null where the network does not say (a deleted account).
    package var author: ItemAuthor?
    /// Plain text, entities and markup resolved; empty where there is none.
    package var text: String
    package var media: [ItemMedia]
    package var location: ItemLocation?
    package var createdAt: Date
    /// When it was last changed, where the network says so.
    package var updatedAt: Date?
    /// Where a person sees it on the network.
    package var url: String?
    package var stats: ItemStats
    /// Whether the account likes it or has it as a favourite; null where the network does not say.
    package var liked: Bool?
    /// What it repeats, answers or tells of.
    package var about: ItemReference?
    /// Of a message, the native id of its thread; of a thread, its own.
    package var thread: String?
    /// Of a thread: the other people in it.
    package var participants: [ItemAuthor]?
    /// Of a thread, how many messages are unread; of a message or notification, 1 or 0; null where nobody knows.
    package var unread: Int?
    /// Other copies of the same post that this one stands for.
    package var copies: [ItemReference]?
    /// The network's own JSON.
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

/// What an item is.
package enum ItemKind: String, Codable, Sendable {
    // In a feed.
    case post, reply, quote
    /// Somebody's post that another passes on: retweet, boost, reblog; `about` names the original.
    case repost
    // In messages.
    case thread, message
    // Among notifications, beside those above. A favourite is a `like`.
    case like, comment, mention, follow, reaction, tag
    /// A notification of a kind that only its network knows.
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

    /// The keys of the contract are always there, null where there is nothing to say; those beyond it only with a value.
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
