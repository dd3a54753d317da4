package import Foundation
import Wire

/// An account, as the operator sees it.
package struct AccountReport: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "accounts"

    package var userId: String
    package var username: String?
    package var fullName: String?
    package var email: String?
    package var emailVerified: Bool
    package var isAnonymous: Bool
    package var isAdministrator: Bool
    package var createdAt: Date
    /// When the operator disabled sign-in; nil for an enabled account.
    package var disabledAt: Date?
    /// The number of signed-in devices.
    package var sessions: Int
    /// The most recent sign-in or refresh of any session.
    package var lastSeenAt: Date?

    package init(
        userId: String,
        username: String?,
        fullName: String?,
        email: String?,
        emailVerified: Bool,
        isAnonymous: Bool,
        isAdministrator: Bool,
        createdAt: Date,
        disabledAt: Date?,
        sessions: Int,
        lastSeenAt: Date?
    ) {
        self.userId = userId
        self.username = username
        self.fullName = fullName
        self.email = email
        self.emailVerified = emailVerified
        self.isAnonymous = isAnonymous
        self.isAdministrator = isAdministrator
        self.createdAt = createdAt
        self.disabledAt = disabledAt
        self.sessions = sessions
        self.lastSeenAt = lastSeenAt
    }
}
