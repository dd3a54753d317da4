import AuthAPI
import Foundation
import PushAPI
import ServiceHost
import Wire

/// The handlers of other services' events about users: account deletions and changes of push devices.
struct UserEventHandlers: Sendable {
    let deletionConfirmations: DeletionConfirmations
    let now: @Sendable () -> Date

    /// The tables with user data, in the order in which the deletion of an application clears them.
    static let tables = [
        "accounts", "authorizations", "posts", "changes", "change_logs", "follow_imports", "user_presence",
    ]

    func register(on consumer: EventConsumer) -> EventConsumer {
        consumer.on(ApplicationDeleted.self, from: [.auth]) { deleted, event, db in
            try await deletionConfirmations.begin(
                application: deleted.applicationId,
                deleted.deletionJob,
                at: event.at,
                in: db
            )
        }
        .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
            let user = deleted.user
            try await AccountStore(db: db).unlinkAll(of: user)
            try await AuthorizationStore(db: db).deleteAll(of: user)
            try await PostStore(db: db).deleteAll(of: user)
            try await ChangeStore(db: db).deleteAll(of: user)
            try await FollowImportStore(db: db).delete(user)
            try await PresenceStore(db: db).delete(of: user)
            try await deletionConfirmations.begin(user, deleted.deletionJob, at: event.at, in: db)
        }
        .on(DevicesChanged.self, from: [.push]) { changed, _, db in
            let store = PresenceStore(db: db)
            guard changed.hasDevice else { return try await store.removeDevices(of: changed.user) }
            try await store.addDevice(of: changed.user)
            // Lists that were polled rarely are due again within 15 seconds.
            try await PollStore(db: db).pollSoon(changed.user, now: now(), pause: Poller.pause)
        }
    }
}
