package import Foundation
import Wire

/// Somebody whom not every service has wiped yet, without his name.
package struct PendingDeletion: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "deletions"

    package var deletionId: String
    package var startedAt: Date
    /// How often the services were asked: 1, 2.
    package var round: Int
    /// Those that have not answered.
    package var pendingServices: [String]

    package init(deletionId: String, startedAt: Date, round: Int, pendingServices: [String]) {
        self.deletionId = deletionId
        self.startedAt = startedAt
        self.round = round
        self.pendingServices = pendingServices
    }
}
