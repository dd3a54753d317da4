/// What a linked account can do on its network.
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

/// One of the things that a network may or may not do.
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

/// How much a post to a network may hold; nil is what the network does not limit, or does not tell.
package struct PostLimits: Codable, Hashable, Sendable {
    /// In what `textUnit` counts.
    package var text: Int?
    package var textUnit: TextUnit?
    /// How many photos one post has.
    package var photos: Int?
    package var photoBytes: Int?
    /// Media types, as `image/jpeg`.
    package var photoTypes: [String]?
    package var videoBytes: Int?
    package var videoSeconds: Double?
    package var videoTypes: [String]?
    /// Of a reply in a thread, in what `textUnit` counts.
    package var reply: Int?
    /// Whether a post needs a photo or film: text alone is not taken.
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

    /// What a network counts text by.
    package enum TextUnit: String, Codable, Sendable {
        /// Unicode scalars.
        case characters
        /// What people see as one character (Bluesky).
        case graphemes
        /// Twitter's own: a URL is 23, most of the world's other scripts 2 a scalar.
        case weighted
        /// Bytes of UTF-8.
        case bytes
    }
}
