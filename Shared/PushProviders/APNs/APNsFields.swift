import Foundation

struct APNsFields {
    let pushType: String
    let priority: String
    let id: String
    /// Unix time in seconds; with 0, APNs tries once and does not store the notification.
    let expiration: String?
    let collapseID: String?

    init(_ message: PushMessage, now: Date) {
        pushType = Self.pushType(message.kind)
        priority = Self.priority(message)
        id = message.id.uuidString.lowercased()
        expiration = message.expires.map { $0 > now ? String(Int($0.timeIntervalSince1970)) : "0" }
        collapseID = message.collapseKey.map {
            CollapseID.make($0, limit: 64, isAllowed: CollapseID.isVisibleASCII)
        }
    }

    func add(to request: inout OutgoingRequest) {
        request.add("apns-push-type", pushType)
        request.add("apns-priority", priority)
        request.add(unique: "apns-id", id)
        if let expiration { request.add(unique: "apns-expiration", expiration) }
        if let collapseID { request.add(unique: "apns-collapse-id", collapseID) }
    }

    private static func pushType(_ kind: PushMessage.Kind) -> String {
        switch kind {
        case .alert: "alert"
        case .background: "background"
        case .voip: "voip"
        }
    }

    /// Returns the priority; APNs rejects a background notification with more than 5.
    private static func priority(_ message: PushMessage) -> String {
        switch (message.kind, message.priority) {
        case (.voip, _), (.alert, .high): "10"
        // APNs rejects background notifications with any other priority (`BadPriority`).
        case (.background, _), (_, .normal): "5"
        case (_, .low): "1"
        }
    }
}
