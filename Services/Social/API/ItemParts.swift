/// The id of an item: `network:nativeId`.
///
/// The connector chooses a native id by which it finds the item again. The id is a string, because the numbers of many
/// networks exceed 2^53.
package struct ItemID: Hashable, Sendable, CustomStringConvertible {
    package let network: Network
    package let native: String

    package init(_ network: Network, _ native: String) {
        self.network = network
        self.native = native
    }

    /// Returns nil unless the text has the form `network:nativeId`.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let network = Network(named: String(parts[0])) else { return nil }
        self.init(network, String(parts[1]))
    }

    package var description: String { "\(network.rawValue):\(native)" }
}

extension ItemID: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = ItemID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not network:nativeId")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The author of an item on its network.
package struct ItemAuthor: Codable, Hashable, Sendable {
    package var id: String
    /// The display name, or the user name if the author has no display name.
    package var name: String
    /// The user name without `@`.
    package var username: String?
    package var avatarUrl: String?
    package var url: String?

    package init(id: String, name: String, username: String? = nil, avatarUrl: String? = nil, url: String? = nil) {
        self.id = id
        self.name = name
        self.username = username
        self.avatarUrl = avatarUrl
        self.url = url
    }
}

/// A photo, video or sound of an item.
package struct ItemMedia: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable { case photo, video, gif, audio, link, other }

    package var kind: Kind
    package var url: String
    package var thumbnailUrl: String?
    /// The width in pixels.
    package var width: Int?
    package var height: Int?
    /// The duration in seconds.
    package var duration: Double?
    package var alt: String?

    package init(
        kind: Kind,
        url: String,
        thumbnailUrl: String? = nil,
        width: Int? = nil,
        height: Int? = nil,
        duration: Double? = nil,
        alt: String? = nil
    ) {
        self.kind = kind
        self.url = url
        self.thumbnailUrl = thumbnailUrl
        self.width = width
        self.height = height
        self.duration = duration
        self.alt = alt
    }
}

/// A location of an item; some networks provide only the name.
package struct ItemLocation: Codable, Hashable, Sendable {
    /// The latitude in degrees, WGS 84.
    package var latitude: Double?
    package var longitude: Double?
    package var name: String?

    package init(latitude: Double? = nil, longitude: Double? = nil, name: String? = nil) {
        self.latitude = latitude
        self.longitude = longitude
        self.name = name
    }
}

/// The counters of an item; null if the network does not provide the counter.
package struct ItemStats: Codable, Hashable, Sendable {
    package var likes: Int?
    package var comments: Int?
    package var reposts: Int?
    package var views: Int?

    package init(likes: Int? = nil, comments: Int? = nil, reposts: Int? = nil, views: Int? = nil) {
        self.likes = likes
        self.comments = comments
        self.reposts = reposts
        self.views = views
    }
}

package struct ItemReference: Codable, Hashable, Sendable {
    package var id: ItemID
    package var url: String?
    package var author: ItemAuthor?
    /// The text of the item, possibly shortened by the network.
    package var text: String?

    package init(id: ItemID, url: String? = nil, author: ItemAuthor? = nil, text: String? = nil) {
        self.id = id
        self.url = url
        self.author = author
        self.text = text
    }
}
