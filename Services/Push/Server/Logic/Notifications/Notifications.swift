import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// Sends, shows and cancels the notifications of applications' servers and administrators.
struct Notifications: Sendable {
    let database: PostgresPool
    let intake: Intake
    let now: @Sendable () -> Date

    func send(_ draft: NotificationDraft, as application: String) async throws -> NotificationReport {
        let new = try notification(draft, of: application)
        _ = try await intake.write([new])
        // The report comes from the primary, because `database.reads` may be a replica that lags behind.
        return try await report(new.id, of: application, on: database)
    }

    func show(_ id: String, of application: String) async throws -> NotificationReport {
        try await report(id, of: application, on: database.reads)
    }

    /// Cancels the part of a notification that has not reached a provider yet.
    ///
    /// - Throws: `already_sent` if nothing is pending.
    func cancel(_ id: String, of application: String) async throws -> NotificationReport {
        try await database.transaction { db in
            let store = NotificationStore(db: db)
            guard try await report(id, of: application, on: db).state != .done else {
                throw APIError(.conflict, "already_sent", "the notification is already sent")
            }
            try await store.cancel(id, of: application, at: now())
            try await store.dropFanout(id, of: application)
            return try await report(id, of: application, on: db)
        }
    }

    private func report(
        _ id: String,
        of application: String,
        on db: some PostgresExecutor
    ) async throws -> NotificationReport {
        guard let report = try await NotificationStore(db: db).report(id, of: application, at: now()) else {
            throw Self.notFound
        }
        return report
    }

    private func notification(_ draft: NotificationDraft, of application: String) throws -> NewNotification {
        let now = now()
        let title = try ContentRules.text(draft.title, field: "title", limit: ContentRules.maximumTitle)
        let body = try ContentRules.text(draft.body, field: "body", limit: ContentRules.maximumBody)
        let data = try ContentRules.data(draft.data)
        guard title != nil || body != nil || data != nil else { throw APIError.missing("body") }
        let dueAt = try ContentRules.sendTime(draft.sendAt, at: now)
        return NewNotification(
            application: application,
            id: (IdempotentRequest.current?.token ?? UUID()).uuidString.lowercased(),
            kind: .server,
            title: title,
            body: body,
            data: data,
            sound: try ContentRules.sound(draft.sound),
            image: try ContentRules.image(draft.image),
            badge: draft.badge,
            collapseKey: try ContentRules.collapseKey(draft.collapseKey),
            about: nil,
            community: nil,
            priority: draft.priority ?? .high,
            audience: try ContentRules.audience(draft.to),
            createdAt: now,
            dueAt: dueAt,
            expiresAt: dueAt.addingTimeInterval(try ContentRules.lifetime(draft.ttl))
        )
    }

    private static let notFound = APIError(.notFound, "notification_not_found", "there is no such notification")
}
