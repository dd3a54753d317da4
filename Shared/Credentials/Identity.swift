package import Foundation
package import Wire

/// The user or application's server that a verified credential belongs to.
package struct Identity: Hashable, Sendable {
    package let user: User.ID
    package let session: String
    /// The client's id of the device on which the session was opened; nil for a jwt.
    package let device: String?
    /// The push registration that the client sent when the session was opened; nil for a jwt.
    package let registration: PushRegistration?
    /// The scopes, separated by spaces (RFC 8693); the only one so far is `admin`.
    package let scope: String?
    package let expires: Date
    /// Whether the caller is an application's server and not a user.
    package let isServer: Bool

    package init(
        user: User.ID,
        session: String,
        device: String? = nil,
        registration: PushRegistration? = nil,
        scope: String? = nil,
        expires: Date,
        isServer: Bool = false
    ) {
        self.user = user
        self.session = session
        self.device = device
        self.registration = registration
        self.scope = scope
        self.expires = expires
        self.isServer = isServer
    }

    /// Whether the user is an administrator of the suite; users of customers' applications never are.
    package var isAdmin: Bool {
        user.isRoostUser && scope?.split(separator: " ").contains("admin") ?? false
    }
}

/// A device's push registration, as its client sent it at sign-in.
package struct PushRegistration: Hashable, Sendable {
    /// The push service: `gcm`, `ios_sandbox` or `ios_production`.
    package let platform: String
    /// The push token; nil if the client sent only its platform.
    package let pushToken: String?

    package init(platform: String, pushToken: String?) {
        self.platform = platform
        self.pushToken = pushToken
    }
}
