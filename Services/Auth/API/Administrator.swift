package import Foundation
import Wire

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

/// The body of the operator's requests that grant or revoke administrator rights.
package struct AdministratorName: Codable, Hashable, Sendable {
    package var username: String

    package init(username: String) {
        self.username = username
    }
}
