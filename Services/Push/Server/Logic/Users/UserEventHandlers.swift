import AuthAPI
import struct ConversationsAPI.DeviceBadge
import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

struct UserEventHandlers: Sendable {
    let devices: Devices
    let broadcasts: Broadcasts
    let signIns: SignInNotices
    let deletionConfirmations: DeletionConfirmations
    let now: @Sendable () -> Date

    func addHandlers(to consumer: EventConsumer) -> EventConsumer {
        consumer
            .on(DeviceRegistered.self, from: [.auth, .conversations]) { registered, _, db in
                try await devices.accept(registered, in: db)
            }
            .on(DeviceBadge.self, from: [.conversations]) { change, _, db in try await devices.accept(change, in: db) }
            .on(SessionEnded.self, from: [.auth]) { ended, _, db in try await devices.accept(ended, in: db) }
            .on(UserChanged.self, from: [.auth]) { changed, _, db in try await devices.accept(changed, in: db) }
            .on(NewDeviceSignIn.self, from: [.auth]) { noticed, _, db in try await signIns.accept(noticed, in: db) }
            .on(BroadcastLive.self, from: [.social]) { live, _, db in try await broadcasts.accept(live, in: db) }
            .on(NotificationRecalled.self, from: [.conversations, .photos]) { recalled, _, db in
                try await NotificationStore(db: db).recall(recalled, at: now())
            }
            .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
                try await Self.removeData(deleted.user, in: db)
                try await deletionConfirmations.begin(deleted.user, deleted.deletionJob, at: event.at, in: db)
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

    private static func removeData(_ user: User.ID, in db: PostgresTransaction) async throws {
        try await DeviceStore(db: db).delete(of: user)
        try await UserLanguageStore(db: db).delete(of: user)
        try await DeviceOwnerStore(db: db).delete(user)
        try await SettingsStore(db: db).delete(of: user)
        try await SubscriptionStore(db: db).delete(of: user)
        try await TopicSubscriptionStore(db: db).delete(of: user)
        try await UserDeletionStore(db: db).removeData(user)
    }
}
