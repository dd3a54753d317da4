import Foundation
import Postgres
import PushAPI
import Wire

/// Turns the event of a new live stream into one notification for each stream id.
struct Broadcasts: Sendable {
    let intake: Intake
    let lifetime: TimeInterval
    let now: @Sendable () -> Date

    /// Stores the notification in the transaction that records the event.
    func accept(_ live: BroadcastLive, in db: PostgresTransaction) async throws {
        guard !live.streamId.isEmpty, live.streamId.utf8.count <= 150 else { throw APIError.missing("streamId") }
        let broadcaster = NameFolding.fold(live.broadcaster)
        guard !broadcaster.isEmpty, broadcaster.utf8.count <= 255 else { throw APIError.missing("broadcaster") }
        if try await NotificationStore(db: db).insert([try notification(live, by: broadcaster)]) > 0 {
            intake.count(.broadcast)
        }
    }

    private func notification(_ live: BroadcastLive, by broadcaster: String) throws -> NewNotification {
        let now = now()
        let data: [String: JSONValue] = [
            "url": .string(live.url), "broadcaster": .string(live.broadcaster), "streamId": .string(live.streamId),
        ]
        var title = NotificationText("broadcast.title", ["broadcaster": .text(live.broadcaster)])
        if let community = live.community {
            title.key = "broadcast.titleIn"
            title.arguments["community"] = .text(community)
        }
        let collapseKey = "live:\(broadcaster)"
        return NewNotification(
            application: "",
            id: "broadcast:\(live.streamId)",
            kind: .broadcast,
            title: intake.texts.text(title),
            body: live.title.isEmpty ? nil : live.title,
            data: String(decoding: try JSONValue.object(data).compact(), as: UTF8.self),
            sound: nil,
            image: live.image,
            badge: nil,
            collapseKey: collapseKey.utf8.count <= ContentRules.maximumCollapseKey ? collapseKey : nil,
            about: broadcaster,
            community: live.community.map(NameFolding.fold),
            priority: .high,
            audience: .favourites(of: broadcaster),
            createdAt: now,
            dueAt: now,
            expiresAt: now.addingTimeInterval(lifetime),
            titleMessage: title
        )
    }
}
