package import Foundation
import Wire

/// An account deletion that not every service has confirmed, without the user's name.
package struct PendingDeletion: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "deletions"

    package var deletionId: String
    package var startedAt: Date
    /// The current pass over the services: 1 or 2.
    package var round: Int
    package var pendingServices: [String]

    package init(deletionId: String, startedAt: Date, round: Int, pendingServices: [String]) {
        self.deletionId = deletionId
        self.startedAt = startedAt
        self.round = round
        self.pendingServices = pendingServices
    }
}
