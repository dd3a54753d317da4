import AuthAPI
import struct ConversationsAPI.DeviceBadge
import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// What push does about what others tell it of people: sign-ins, sessions that end, people who leave or go live.
struct PeopleNews: Sendable {
    let devices: Devices
    let broadcasts: Broadcasts
    let signIns: SignInNotices
    let erasures: Erasures
    let now: @Sendable () -> Date

    func heard(by consumer: EventConsumer) -> EventConsumer {
        consumer
            .on(DeviceRegistered.self, from: [.auth, .conversations]) { registered, _, db in
                try await devices.take(registered, in: db)
            }
            .on(DeviceBadge.self, from: [.conversations]) { change, _, db in try await devices.take(change, in: db) }
            .on(SessionEnded.self, from: [.auth]) { ended, _, db in try await devices.take(ended, in: db) }
            .on(UserChanged.self, from: [.auth]) { changed, _, db in try await devices.take(changed, in: db) }
            .on(DeviceNoticed.self, from: [.auth]) { noticed, _, db in try await signIns.take(noticed, in: db) }
            .on(BroadcastLive.self, from: [.social]) { live, _, db in try await broadcasts.take(live, in: db) }
            .on(NotificationRecalled.self, from: [.conversations, .photos]) { recalled, _, db in
                try await NotificationStore(db: db).recall(recalled, at: now())
            }
            .on(UserDeleted.self, from: [.auth]) { deleted, event, db in
                try await Self.forget(deleted.user, in: db)
                try await erasures.begin(deleted.user, deleted.departure, at: event.at, in: db)
            }
            .on(ApplicationDeleted.self, from: [.auth]) { deleted, event, db in
                try await erasures.begin(
                    application: deleted.applicationId,
                    deleted.departure,
                    at: event.at,
                    in: db
                )
            }
    }

    /// Everything that push keeps of somebody.
    private static func forget(_ user: User.ID, in db: PostgresTransaction) async throws {
        try await DeviceStore(db: db).delete(of: user)
        try await UserLanguageStore(db: db).delete(of: user)
        try await DeviceOwnerStore(db: db).delete(user)
        try await SettingsStore(db: db).delete(of: user)
        try await SubscriptionStore(db: db).delete(of: user)
        try await TopicSubscriptionStore(db: db).delete(of: user)
        try await ForgettingStore(db: db).forget(user)
    }
}
