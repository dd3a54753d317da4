import AuthAPI
import ServiceHost
import Wire

/// What social does about what others tell of people: who is gone leaves nothing behind.
struct PeopleNews: Sendable {
    let erasures: Erasures

    func heard(by consumer: EventConsumer) -> EventConsumer {
        consumer.on(UserDeleted.self, from: [.auth]) { deleted, event, db in
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
