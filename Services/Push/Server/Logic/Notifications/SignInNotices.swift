import AuthAPI
import Foundation
import Postgres
import PushAPI
import Wire

/// Shows somebody, on the devices that he has, that he has signed in on another: if it was not he, he should know.
struct SignInNotices: Sendable {
    /// A sign-in of long ago is no news, in seconds.
    private static let lifetime: TimeInterval = 86_400

    let intake: Intake
    let now: @Sendable () -> Date

    /// Writes it down in the transaction that notes the event; nobody can turn it off.
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
            // Known by the one or the other, where it has registered by now.
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
