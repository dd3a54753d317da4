package import Foundation
import Wire

/// Somebody who may administer the suite.
package struct Administrator: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "administrators"

    package var userId: String
    package var username: String?
    package var grantedAt: Date

    package init(userId: String, username: String?, grantedAt: Date) {
        self.userId = userId
        self.username = username
        self.grantedAt = grantedAt
    }
}

/// Whose right is meant.
package struct AdministratorName: Codable, Hashable, Sendable {
    package var username: String

    package init(username: String) {
        self.username = username
    }
}
