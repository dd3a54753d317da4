import AuthAPI
import Foundation
import Postgres
import PushAPI
import Wire

/// Notifies a user, on the other devices, of a sign-in on a new device, so that the user can detect a stolen password.
struct SignInNotices: Sendable {
    /// In seconds; older sign-ins cause no notification.
    private static let lifetime: TimeInterval = 86_400

    let intake: Intake
    let now: @Sendable () -> Date

    /// Stores the notification, which users cannot turn off, in the transaction that records the event.
    func accept(_ noticed: NewDeviceSignIn, in db: PostgresTransaction) async throws {
        let now = now()
        guard now.timeIntervalSince(noticed.at) < Self.lifetime else { return }
        if try await NotificationStore(db: db).insert([try notification(noticed, at: now)]) > 0 {
            intake.count(.server)
        }
    }

    private func notification(_ noticed: NewDeviceSignIn, at now: Date) throws -> NewNotification {
        let data: [String: JSONValue] = ["type": .string("device"), "sessionId": .string(noticed.sessionId)]
        let title = NotificationText("device.title")
        let body =
            noticed.userAgent.map { NotificationText("device.bodyNamed", ["agent": .text(String($0.prefix(80)))]) }
            ?? NotificationText("device.body")
        let recipient = NotificationRequest.Recipient(
            userId: noticed.userId,
            // The new device may have registered already, under either id.
            exceptDeviceIds: [noticed.sessionId] + (noticed.deviceId.map { [$0] } ?? [])
        )
        return NewNotification(
            application: noticed.applicationId,
            id: "device:\(noticed.sessionId)",
            kind: .server,
            title: intake.texts.text(title),
            body: intake.texts.text(body),
            data: String(decoding: try JSONValue.object(data).compact(), as: UTF8.self),
            sound: nil,
            image: nil,
            badge: nil,
            collapseKey: nil,
            about: nil,
            community: nil,
            priority: .high,
            audience: .people([recipient]),
            createdAt: now,
            dueAt: now,
            expiresAt: noticed.at.addingTimeInterval(Self.lifetime),
            titleMessage: title,
            bodyMessage: body
        )
    }
}
