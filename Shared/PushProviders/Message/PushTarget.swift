/// The address of a device at its provider.
public enum PushTarget: Hashable, Sendable {
    /// An APNs device token in hexadecimal.
    case apns(token: String, environment: APNsEnvironment)
    /// An FCM registration token.
    case fcm(token: String)
    /// A browser's subscription: the URL of its push service, and its keys in base64url.
    case web(endpoint: String, p256dh: String, auth: String)

    /// The unit of failure for a circuit breaker: devices with the same value fail together.
    ///
    /// The value is `apns-production`, `apns-sandbox`, `fcm`, or the origin of a browser's push service. Anyone can run
    /// a push service for browsers, so each origin counts separately.
    public var service: String {
        switch self {
        case .apns(_, let environment): "apns-\(environment.rawValue)"
        case .fcm: "fcm"
        case .web(let endpoint, _, _): HTTPAddress(endpoint)?.origin.description ?? "web"
        }
    }
}

/// The environment of an APNs device token.
public enum APNsEnvironment: String, Hashable, Sendable {
    /// Apps from the App Store and TestFlight.
    case production
    /// Apps that Xcode installs.
    case sandbox
}
