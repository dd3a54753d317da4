package import Foundation
package import Wire

/// Who a credential stands for, once it was verified.
package struct Identity: Hashable, Sendable {
    package let user: User.ID
    package let session: String
    /// Space-separated, as in RFC 8693; `admin` is the only one so far.
    package let scope: String?
    package let expires: Date

    package init(user: User.ID, session: String, scope: String? = nil, expires: Date) {
        self.user = user
        self.session = session
        self.scope = scope
        self.expires = expires
    }

    package var isAdmin: Bool {
        scope?.split(separator: " ").contains("admin") ?? false
    }
}
