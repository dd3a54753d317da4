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
}
