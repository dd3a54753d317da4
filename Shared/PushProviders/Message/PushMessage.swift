public import Foundation

/// A notification for one device, independent of the provider.
public struct PushMessage: Hashable, Sendable {
    /// The effect of a notification on the device.
    public enum Kind: Hashable, Sendable {
        /// Shows a text, plays a sound, sets the badge.
        case alert
        /// Wakes the app briefly without showing anything; sent as ``Priority/normal`` or lower.
        case background
        /// An incoming call (a PushKit VoIP push); providers other than APNs send an alert of high priority.
        case voip
    }

    /// The urgency of delivery; a higher urgency costs the device more battery.
    public enum Priority: Hashable, Sendable {
        /// Delivered immediately: APNs 10, FCM `HIGH`, Web Push `high`.
        case high
        /// Delivered when power conditions allow: APNs 5, FCM `NORMAL`, Web Push `normal`.
        case normal
        /// Delivered when the device is awake anyway: APNs 1, FCM `NORMAL`, Web Push `low`.
        case low
    }

    /// A text that the app translates on the device.
    public struct Localization: Hashable, Sendable {
        /// A key of the app's `Localizable.strings`.
        public var key: String
        /// The values of the placeholders in the translated text, in order.
        public var arguments: [String]

        /// Creates a reference to a text of the app.
        public init(key: String, arguments: [String] = []) {
            self.key = key
            self.arguments = arguments
        }
    }

    /// The identifier of this notification for this device; keep it when sending again, so that the app recognises
    /// repetitions.
    ///
    /// APNs transmits it as `apns-id`. FCM and Web Push deliver it to the app as `id`.
    public var id: UUID
    /// The title; truncated after ``body`` if the payload exceeds the provider's limit.
    public var title: String?
    /// The title on Android in place of ``title``; never truncated, but omitted if it does not fit.
    public var androidTitle: String?
    /// The text; truncated with an ellipsis between two characters if the payload exceeds the provider's limit.
    public var body: String?
    /// Additional values for the app, by name; never truncated.
    public var data: [String: EncodedJSON]
    /// The number on the app's icon; 0 removes it, nil leaves it unchanged.
    public var badge: Int?
    /// The name of a sound; nil for a silent notification.
    public var sound: String?
    /// The URL of an image to show.
    public var imageURL: String?
    /// The key by which a newer notification replaces an older one that the user has not opened.
    public var collapseKey: String?
    /// The time after which the provider discards the notification; nil for the provider's maximum, some weeks.
    public var expires: Date?
    /// The urgency of delivery.
    public var priority: Priority
    /// The effect on the device.
    public var kind: Kind
    /// The title's key for APNs in place of ``title``, unless the payload is too large; other providers send ``title``.
    public var localizedTitle: Localization?
    /// The body's key for APNs in place of ``body``, under the same conditions as ``localizedTitle``.
    public var localizedBody: Localization?

    /// Creates a notification; all properties except `id` have defaults.
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
