package import Foundation

/// One time that the services are asked to wipe somebody: by it they answer, naming him no more.
package struct DeletionJob: Codable, Hashable, Sendable {
    package var id: UUID
    /// They are asked again once all have answered, for what was under way when it began: 1, 2.
    package var round: Int

    package init(id: UUID, round: Int) {
        self.id = id
        self.round = round
    }
}

/// Nothing is left in a service of somebody who was deleted: its answer to `user.deleted`.
///
/// Every service that keeps something of people tells it, so it is nobody's API.
package struct UserDeletionCompleted: EventContent, Hashable {
    package static let type = "user.deletion_completed"

    package var deletionJob: DeletionJob
    /// The name of the service that answers.
    package var service: String

    package init(deletionJob: DeletionJob, service: String) {
        self.deletionJob = deletionJob
        self.service = service
    }

    package var key: String { "deletion:\(deletionJob.id.uuidString.lowercased())" }
}
