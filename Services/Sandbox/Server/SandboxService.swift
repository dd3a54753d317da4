/// The external services that the sandbox simulates.
package enum SandboxService: String, Codable, CaseIterable, Sendable {
    /// Apple Push Notification service, over HTTP/2.
    case apns
    /// Firebase Cloud Messaging, HTTP v1.
    case fcm
    /// Google's token endpoint for service accounts.
    case fcmToken = "fcm-token"
    /// A browser vendor's push service and the browser.
    case webPush = "webpush"
    /// A mail server. The `token` of a script rule is a receiver's address.
    case smtp
    /// The social networks, each below a path of its name.
    case mastodon, bluesky, reddit, twitter, tumblr, facebook, instagram, vine
    /// The list of broadcasts of Reddit's live video.
    case rpan
    /// The identity providers Google and Apple, with OpenID Connect.
    case google, apple
}

extension SandboxService {
    var isNetwork: Bool {
        switch self {
        case .apns, .fcm, .fcmToken, .webPush, .smtp: false
        case .mastodon, .bluesky, .reddit, .twitter, .tumblr, .facebook, .instagram, .vine, .rpan, .google, .apple: true
        }
    }
}
