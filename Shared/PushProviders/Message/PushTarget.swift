/// A device, as its provider knows it.
public enum PushTarget: Hashable, Sendable {
    /// A device token of Apple's, as hexadecimal digits.
    case apns(token: String, environment: APNsEnvironment)
    /// A registration token of Firebase's.
    case fcm(token: String)
    /// A browser's subscription: the URL of its push service, and its keys in base64url.
    case web(endpoint: String, p256dh: String, auth: String)

    /// Who fails when this device cannot be reached for reasons that are not its own: what a circuit breaker goes by.
    ///
    /// `apns-production`, `apns-sandbox`, `fcm`, or the origin of a browser's push service: anybody may run one of
    /// those, and one that is broken must not keep notifications from the others.
    public var service: String {
        switch self {
        case .apns(_, let environment): "apns-\(environment.rawValue)"
        case .fcm: "fcm"
        case .web(let endpoint, _, _): HTTPAddress(endpoint)?.origin.description ?? "web"
        }
    }
}

/// Which of Apple's two worlds a device token is of: apps from the store and TestFlight, or those that Xcode installs.
public enum APNsEnvironment: String, Hashable, Sendable {
    case production
    case sandbox
}
