package import Foundation
package import Wire

/// Who a credential stands for, once it was verified.
package struct Identity: Hashable, Sendable {
    package let user: User.ID
    package let session: String
    /// The device that the session was opened on, by the client's own id; a jwt does not tell it.
    package let device: String?
    /// The push registration that the client gave when the session was opened; nil for a jwt.
    package let registration: PushRegistration?
    /// Space-separated, as in RFC 8693; `admin` is the only one so far.
    package let scope: String?
    package let expires: Date
    /// Whether this is no person but an application's own server.
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

    /// Whether this is one of the suite's own administrators; nobody of a customer's application is.
    package var isAdmin: Bool {
        user.isRoostUser && scope?.split(separator: " ").contains("admin") ?? false
    }
}

/// How a device receives push notifications, as its client stated at sign-in.
package struct PushRegistration: Hashable, Sendable {
    /// `gcm`, `ios_sandbox` or `ios_production`.
    package let platform: String
    /// Nil where the client named its platform alone.
    package let pushToken: String?

    package init(platform: String, pushToken: String?) {
        self.platform = platform
        self.pushToken = pushToken
    }
}
