/// The services of the outside world that the sandbox plays.
package enum SandboxService: String, Codable, CaseIterable, Sendable {
    /// Apple's: by HTTP/2.
    case apns
    /// Google's Firebase Cloud Messaging, v1.
    case fcm
    /// Where Google gives access tokens for a service account's signed assertion.
    case fcmToken = "fcm-token"
    /// A browser vendor's push service, and the browser behind it.
    case webPush = "webpush"
    /// A mail server, by SMTP; `token` is a receiver's address.
    case smtp
    /// The social networks, each below a path of its name.
    case mastodon, bluesky, reddit, twitter, tumblr, facebook, instagram, vine
    /// Reddit's live video: the list of broadcasts.
    case rpan
    /// Google's and Apple's accounts, by OpenID Connect.
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
