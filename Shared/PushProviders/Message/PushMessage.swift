public import Foundation

/// What is to be said to one device, in the words of no provider.
public struct PushMessage: Hashable, Sendable {
    /// What the device is to do with it.
    public enum Kind: Hashable, Sendable {
        /// Show it, play its sound, set the badge.
        case alert
        /// Wake the app for a moment and show nothing; goes out as ``Priority/normal`` at most.
        case background
        /// An incoming call (PushKit's VoIP pushes); to others than Apple it is an alert of high priority.
        case voip
    }

    /// How much of a battery it is worth.
    public enum Priority: Hashable, Sendable {
        /// At once: APNs 10, FCM `HIGH`, Web Push `high`.
        case high
        /// When it suits the device: APNs 5, FCM `NORMAL`, Web Push `normal`.
        case normal
        /// When the device is awake anyway: APNs 1, FCM `NORMAL`, Web Push `low`.
        case low
    }

    /// A text that the app on the device translates itself.
    public struct Localization: Hashable, Sendable {
        /// A key of the app's `Localizable.strings`.
        public var key: String
        public var arguments: [String]

        public init(key: String, arguments: [String] = []) {
            self.key = key
            self.arguments = arguments
        }
    }

    /// Names this notification to this device: the same each time it is sent again, so that it is recognised.
    ///
    /// It is `apns-id` at Apple, and `id` in what FCM and browsers hand to the app.
    public var id: UUID
    public var title: String?
    /// The title on Android, instead of ``title``; never cut.
    public var androidTitle: String?
    /// Cut at a character's end, with an ellipsis, where the provider's limit asks for it; so is the title, after it.
    public var body: String?
    /// What the app is told beside the text; never cut.
    public var data: [String: EncodedJSON]
    /// The number on the app's icon; 0 takes it away, nil leaves it.
    public var badge: Int?
    /// The name of a sound; nil is silent.
    public var sound: String?
    public var imageURL: String?
    /// A later notification with the same key takes the place of one not yet seen.
    public var collapseKey: String?
    /// When it is of no more use; nil leaves it to the provider, which keeps it for some weeks.
    public var expires: Date?
    public var priority: Priority
    public var kind: Kind
    /// Sent to APNs in place of `title`, unless the whole would be too long; other providers send `title`.
    public var localizedTitle: Localization?
    /// The same in place of `body`.
    public var localizedBody: Localization?

    public init(
        id: UUID,
        title: String? = nil,
        androidTitle: String? = nil,
        body: String? = nil,
        data: [String: EncodedJSON] = [:],
        badge: Int? = nil,
        sound: String? = nil,
        imageURL: String? = nil,
        collapseKey: String? = nil,
        expires: Date? = nil,
        priority: Priority = .high,
        kind: Kind = .alert,
        localizedTitle: Localization? = nil,
        localizedBody: Localization? = nil
    ) {
        self.id = id
        self.title = title
        self.androidTitle = androidTitle
        self.body = body
        self.data = data
        self.badge = badge
        self.sound = sound
        self.imageURL = imageURL
        self.collapseKey = collapseKey
        self.expires = expires
        self.priority = priority
        self.kind = kind
        self.localizedTitle = localizedTitle
        self.localizedBody = localizedBody
    }
}
