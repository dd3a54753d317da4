package import Foundation
import Wire

/// Somebody whom one does not want to hear from.
package struct Block: Codable, Hashable, Sendable, PageItem {
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

/// One entry of the suite's list of blocks, as services tell each other of it.
package struct ListedBlock: Codable, Hashable, Sendable {
    package var applicationId: String
    package var userId: String
    package var blockedId: String

    package init(applicationId: String, userId: String, blockedId: String) {
        self.applicationId = applicationId
        self.userId = userId
        self.blockedId = blockedId
    }
}

/// Some of the list, in an order that does not change.
package struct ListedBlocks: Codable, Hashable, Sendable {
    /// None is the end of the list.
    package var blocks: [ListedBlock]

    package init(blocks: [ListedBlock]) {
        self.blocks = blocks
    }
}

/// Whom a user and the suite keep apart: those whom he has blocked, and those who have blocked him.
package struct BlockedPeers: Codable, Hashable, Sendable {
    /// In the order of their names.
    package var userIds: [String]
    /// Whether there are others after these: ask with the last one.
    package var more: Bool

    package init(userIds: [String], more: Bool) {
        self.userIds = userIds
        self.more = more
    }
}
