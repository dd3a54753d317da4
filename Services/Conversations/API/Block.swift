package import Foundation
import Wire

/// Somebody whom one does not want to hear from.
package struct Block: Codable, Hashable, Sendable, Listed {
    package static let pluralName = "blocks"

    package var userId: String
    package var blockedAt: Date

    package init(userId: String, blockedAt: Date) {
        self.userId = userId
        self.blockedAt = blockedAt
    }
}

/// The answer to taking away what may not have been there.
package struct Removal: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

/// Whom a user and the suite keep apart: those whom he has blocked, and those who have blocked him.
package struct KeptApart: Codable, Hashable, Sendable {
    /// In the order of their names.
    package var userIds: [String]
    /// Whether there are others after these: ask with the last one.
    package var more: Bool

    package init(userIds: [String], more: Bool) {
        self.userIds = userIds
        self.more = more
    }
}
