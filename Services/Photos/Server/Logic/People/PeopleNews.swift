import AuthAPI
import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// What photos does about what others tell of people: who is called otherwise, who is kept apart from whom, who is gone.
struct PeopleNews: Sendable {
    let people: People
    let blocks: Blocks
    let departures: Departures

    func heard(by consumer: EventConsumer) -> EventConsumer {
        consumer
            .on(UserChanged.self) { changed, _, db in
                let user = User.ID(application: changed.applicationId, user: changed.userId)
                try await people.rename(user, to: changed.fullName ?? changed.username ?? "", in: db)
            }
            .on(UserBlocked.self) { block, _, db in
                try await set(block.applicationId, block.userId, block.blockedId, isBlocked: true, in: db)
            }
            .on(UserUnblocked.self) { block, _, db in
                try await set(block.applicationId, block.userId, block.blockedId, isBlocked: false, in: db)
            }
            .on(UserDeleted.self) { deleted, event, db in
                try await BlockSurveyStore(db: db).note(
                    User.ID(application: deleted.applicationId, user: deleted.userId)
                )
                try await departures.begin(deleted, event, in: db)
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
        try await BlockSurveyStore(db: db).note(user, blocked)
        try await blocks.set(
            user,
            User.ID(application: application, user: blocked),
            isBlocked: isBlocked,
            in: db
        )
    }
}
