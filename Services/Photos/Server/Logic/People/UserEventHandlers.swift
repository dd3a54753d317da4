import AuthAPI
import ConversationsAPI
import Postgres
import ServiceHost
import Wire

struct UserEventHandlers: Sendable {
    let people: People
    let blocks: Blocks
    let personDeletions: PersonDeletions
    let avatarImport: AvatarImport
    let deletionConfirmations: DeletionConfirmations

    func register(on consumer: EventConsumer) -> EventConsumer {
        consumer
            .on(UserChanged.self, from: [.auth]) { changed, _, db in
                let user = User.ID(application: changed.applicationId, user: changed.userId)
                // A change of only the language must not overwrite a name that the user chose in photos.
                if changed.changesNames {
                    try await people.record(user, named: changed.fullName ?? changed.username ?? "", in: db)
                }
                if let picture = changed.pictureUrl { try await avatarImport.record(picture, of: user, in: db) }
            }
            .on(UserBlocked.self, from: [.conversations]) { block, _, db in
                try await set(block.applicationId, block.userId, block.blockedId, isBlocked: true, in: db)
            }
            .on(UserUnblocked.self, from: [.conversations]) { block, _, db in
                try await set(block.applicationId, block.userId, block.blockedId, isBlocked: false, in: db)
            }
            .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
                try await BlockBackfillStore(db: db).record(deleted.user)
                let person = try await personDeletions.begin(deleted, event, in: db)
                if let person { try await AvatarImportStore(db: db).delete(of: person) }
                try await deletionConfirmations.begin(
                    deleted.user,
                    deleted.deletionJob,
                    number: person?.rawValue,
                    at: event.at,
                    in: db
                )
            }
            .on(ApplicationDeleted.self, from: [.auth]) { deleted, event, db in
                try await deletionConfirmations.begin(
                    application: deleted.applicationId,
                    deleted.deletionJob,
                    at: event.at,
                    in: db
                )
            }
    }

    private func set(
        _ application: String,
        _ blocker: String,
        _ blocked: String,
        isBlocked: Bool,
        in db: PostgresTransaction
    ) async throws {
        let user = User.ID(application: application, user: blocker)
        try await BlockBackfillStore(db: db).record(user, blocked)
        try await blocks.set(
            user,
            User.ID(application: application, user: blocked),
            isBlocked: isBlocked,
            in: db
        )
    }
}
