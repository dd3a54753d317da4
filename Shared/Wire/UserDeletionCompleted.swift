package import Foundation

/// A pass of an account deletion; the services' confirmations refer to it and not to the user.
package struct DeletionJob: Codable, Hashable, Sendable {
    package var id: UUID
    /// The number of the pass, 1 or 2; the second pass catches writes that were in flight during the first.
    package var round: Int

    package init(id: UUID, round: Int) {
        self.id = id
        self.round = round
    }
}

/// The confirmation that a service has deleted all data of a user: its response to `user.deleted`.
///
/// All services that store data of users publish it, so it belongs to no service's API.
package struct UserDeletionCompleted: EventContent, Hashable {
    package static let type = "user.deletion_completed"

    package var deletionJob: DeletionJob
    /// The name of the confirming service.
    package var service: String

    package init(deletionJob: DeletionJob, service: String) {
        self.deletionJob = deletionJob
        self.service = service
    }

    package var key: String { "deletion:\(deletionJob.id.uuidString.lowercased())" }
}
