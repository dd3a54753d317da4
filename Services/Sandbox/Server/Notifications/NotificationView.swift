package import Foundation
package import Wire

/// A notification as the sandbox shows it: the visible parts, and the payload and header fields as received.
package struct NotificationView: Codable, Sendable {
    package var number: Int
    package var service: SandboxService
    package var environment: String?
    package var device: String
    package var id: String
    package var copies: Int
    package var acceptedAt: Date
    package var title: String?
    package var body: String?
    package var badge: Int64?
    package var sound: String?
    package var image: String?
    /// The URL that a tap opens.
    package var url: String?
    /// `alert`, or `background` for a notification that the device does not show.
    package var kind: String
    package var headers: [String: String]
    package var payload: JSONValue

    package init(_ received: ReceivedNotification) {
        number = received.number
        service = received.service
        environment = received.environment?.rawValue
        device = received.device
        id = received.id
        copies = received.copies
        acceptedAt = received.acceptedAt
        headers = Dictionary(received.fields.map { ($0.name, $0.value) }) { first, _ in first }
        payload = received.content
        kind = "background"
        switch received.service {
        case .apns: readApple(payload)
        case .fcm, .fcmToken: readFirebase(payload)
        // Networks, identity providers and the mail server produce no push notifications.
        case .mastodon, .bluesky, .reddit, .twitter, .tumblr, .facebook, .instagram, .vine, .rpan, .google, .apple,
            .smtp:
            break
        case .webPush: readWeb(payload)
        }
        if title != nil || body != nil { kind = "alert" }
    }

    private mutating func readApple(_ payload: JSONValue) {
        let aps = payload["aps"]
        let alert = aps?["alert"]
        title = alert?["title"]?.text
        body = alert?["body"]?.text ?? alert?.text
        badge = aps?["badge"]?.whole
        sound = aps?["sound"]?.text ?? aps?["sound"]?["name"]?.text
        image =
            payload["image"]?.text ?? payload["image-url"]?.text ?? payload["imageURL"]?.text
            ?? payload["fcm_options"]?["image"]?.text
        url = payload["url"]?.text
        if aps?["badge"] != nil || aps?["sound"] != nil { kind = "alert" }
    }

    private mutating func readFirebase(_ message: JSONValue) {
        let common = message["notification"]
        let android = message["android"]?["notification"]
        title = android?["title"]?.text ?? common?["title"]?.text
        body = android?["body"]?.text ?? common?["body"]?.text
        image = android?["image"]?.text ?? common?["image"]?.text
        let aps = message["apns"]?["payload"]?["aps"]
        sound = android?["sound"]?.text ?? aps?["sound"]?.text
        badge = android?["notification_count"]?.whole ?? aps?["badge"]?.whole
        url = message["data"]?["url"]?.text
    }

    private mutating func readWeb(_ content: JSONValue) {
        // The fields of a declarative push are one level deeper (web_push: 8030).
        let notification = content["notification"] ?? content
        title = notification["title"]?.text
        body = notification["body"]?.text ?? content.text
        badge = notification["badge"]?.whole ?? content["badge"]?.whole ?? content["app_badge"]?.whole
        sound = notification["sound"]?.text
        image = notification["image"]?.text ?? notification["icon"]?.text
        url = notification["url"]?.text ?? notification["navigate"]?.text ?? content["data"]?["url"]?.text
    }
}
