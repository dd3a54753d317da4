package import Foundation
package import Wire

/// Who a credential stands for, once it was verified.
package struct Identity: Hashable, Sendable {
    package let user: User.ID
    package let session: String
    /// The device that the session was opened on, by the client's own id; a jwt does not tell it.
    package let device: String?
    /// Space-separated, as in RFC 8693; `admin` is the only one so far.
    package let scope: String?
    package let expires: Date
    /// Whether this is no person but an application's own server.
    package let isServer: Bool

    package init(
        user: User.ID,
        session: String,
        device: String? = nil,
        scope: String? = nil,
        expires: Date,
        isServer: Bool = false
    ) {
        self.user = user
        self.session = session
        self.device = device
        self.scope = scope
        self.expires = expires
        self.isServer = isServer
    }

    /// Whether this is one of the suite's own administrators; nobody of a customer's application is.
    package var isAdmin: Bool {
        user.isRoosts && scope?.split(separator: " ").contains("admin") ?? false
    }
}
