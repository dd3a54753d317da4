package import Foundation
import Wire

/// An entry of a user's block list.
package struct Block: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "blocks"

    package var userId: String
    package var blockedAt: Date

    package init(userId: String, blockedAt: Date) {
        self.userId = userId
        self.blockedAt = blockedAt
    }
}

/// The response to a removal, whether or not the item existed.
package struct Removal: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

/// An entry of the suite's block list, as services exchange it.
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

/// A page of the suite's block list, in a stable order.
package struct ListedBlocks: Codable, Hashable, Sendable {
    /// Empty at the end of the list.
    package var blocks: [ListedBlock]

    package init(blocks: [ListedBlock]) {
        self.blocks = blocks
    }
}

/// The users that a block separates from a user, in either direction.
package struct BlockedPeers: Codable, Hashable, Sendable {
    /// Ordered by user id.
    package var userIds: [String]
    /// Whether more users follow; the next request passes the last id.
    package var more: Bool

    package init(userIds: [String], more: Bool) {
        self.userIds = userIds
        self.more = more
    }
}
