/// The capabilities of a linked account on its network.
package struct Capabilities: Codable, Hashable, Sendable {
    package var feed = false
    package var messages = false
    package var notifications = false
    package var text = false
    package var photo = false
    package var video = false
    package var location = false
    package var like = false
    package var favorite = false
    package var reply = false

    package init(_ supported: Set<Capability> = []) {
        for capability in supported { self[keyPath: capability.keyPath] = true }
    }

    package subscript(capability: Capability) -> Bool {
        get { self[keyPath: capability.keyPath] }
        set { self[keyPath: capability.keyPath] = newValue }
    }
}

/// An action or a list that a network may support.
package enum Capability: String, Codable, CaseIterable, Sendable, CodingKeyRepresentable {
    case feed, messages, notifications, text, photo, video, location, like, favorite, reply

    var keyPath: WritableKeyPath<Capabilities, Bool> {
        switch self {
        case .feed: \.feed
        case .messages: \.messages
        case .notifications: \.notifications
        case .text: \.text
        case .photo: \.photo
        case .video: \.video
        case .location: \.location
        case .like: \.like
        case .favorite: \.favorite
        case .reply: \.reply
        }
    }
}

/// The limits of a post to a network; nil means that there is no limit or that the network does not publish it.
package struct PostLimits: Codable, Hashable, Sendable {
    /// The maximum length of a post's text, in `textUnit`.
    package var text: Int?
    package var textUnit: TextUnit?
    package var photos: Int?
    package var photoBytes: Int?
    /// The accepted media types, such as `image/jpeg`.
    package var photoTypes: [String]?
    package var videoBytes: Int?
    package var videoSeconds: Double?
    package var videoTypes: [String]?
    /// The maximum length of a reply in a message thread, in `textUnit`.
    package var reply: Int?
    /// Whether a post needs a photo or a video; the network rejects text alone.
    package var needsMedia: Bool?

    package init(
        text: Int? = nil,
        textUnit: TextUnit? = nil,
        photos: Int? = nil,
        photoBytes: Int? = nil,
        photoTypes: [String]? = nil,
        videoBytes: Int? = nil,
        videoSeconds: Double? = nil,
        videoTypes: [String]? = nil,
        reply: Int? = nil,
        needsMedia: Bool? = nil
    ) {
        self.text = text
        self.textUnit = textUnit
        self.photos = photos
        self.photoBytes = photoBytes
        self.photoTypes = photoTypes
        self.videoBytes = videoBytes
        self.videoSeconds = videoSeconds
        self.videoTypes = videoTypes
        self.reply = reply
        self.needsMedia = needsMedia
    }

    /// The unit in which a network measures text.
    package enum TextUnit: String, Codable, Sendable {
        /// Unicode scalars.
        case characters
        /// Grapheme clusters: the characters that a reader sees (Bluesky).
        case graphemes
        /// Twitter's weighted count: a URL counts 23, and a scalar of most non-Latin scripts counts 2.
        case weighted
        /// Bytes of UTF-8.
        case bytes
    }
}
