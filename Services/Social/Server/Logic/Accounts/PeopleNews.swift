import AuthAPI
import ServiceHost
import Wire

/// What social does about what others tell of people: who is gone leaves nothing behind.
struct PeopleNews: Sendable {
    let erasures: Erasures

    /// The tables with data of users, in the order in which they are cleared of an application.
    static let tables = ["accounts", "authorizations", "posts", "changes", "journals", "follow_imports"]

    func heard(by consumer: EventConsumer) -> EventConsumer {
        consumer.on(ApplicationDeleted.self, from: [.auth]) { deleted, event, db in
            try await erasures.begin(application: deleted.applicationId, deleted.departure, at: event.at, in: db)
        }
        .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
            let user = deleted.user
            try await AccountStore(db: db).unlinkAll(of: user)
            try await AuthorizationStore(db: db).deleteAll(of: user)
            try await PostStore(db: db).deleteAll(of: user)
            try await JournalStore(db: db).deleteAll(of: user)
            try await FollowImportStore(db: db).forget(user)
            try await erasures.begin(user, deleted.departure, at: event.at, in: db)
        }
    }
}
