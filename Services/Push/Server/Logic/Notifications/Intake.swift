import Foundation
import Metrics
import Postgres
import PushAPI
import Wire

/// Stores notifications from other services, each once, before push acknowledges them.
struct Intake: Sendable {
    private static let maximumID = 200
    /// In bytes, of a message's encoded key and arguments.
    private static let maximumMessage = 4_096
    private static let maximumReason = 64

    let database: PostgresPool
    let wakeSignal: WakeSignal
    let texts: PushTexts
    let now: @Sendable () -> Date
    private let counters = Dictionary(
        uniqueKeysWithValues: NotificationKind.allCases.map { kind in
            (kind, Counter(label: "roost_push_notifications_total", dimensions: [("kind", kind.rawValue)]))
        }
    )

    init(database: PostgresPool, wakeSignal: WakeSignal, texts: PushTexts, now: @escaping @Sendable () -> Date) {
        self.database = database
        self.wakeSignal = wakeSignal
        self.texts = texts
        self.now = now
    }

    /// Stores notifications from a service.
    ///
    /// A rejected request blocks all later notifications of the service, so push rejects only what it cannot store.
    func accept(_ requests: [NotificationRequest]) async throws -> NotificationsAccepted {
        guard requests.count <= PushClient.maximumNotifications else {
            throw APIError.invalid(
                "notifications",
                "must have at most \(PushClient.maximumNotifications) notifications",
                code: "too_many"
            )
        }
        let now = now()
        var seen: Set<[UInt8]> = []
        var new: [NewNotification] = []
        for (index, request) in requests.enumerated() {
            try Self.check(request, at: "notifications[\(index)]")
            let key = Array(request.applicationId.utf8) + [0] + Array(request.id.utf8)
            if seen.insert(key).inserted { new.append(try NewNotification(request, texts, at: now)) }
        }
        let newCount = try await write(new)
        return NotificationsAccepted(taken: newCount, known: requests.count - newCount)
    }

    /// Stores validated notifications with distinct ids; returns the number of new ones.
    func write(_ new: [NewNotification]) async throws -> Int {
        guard !new.isEmpty else { return 0 }
        let newCount = try await NotificationStore(db: database).insert(new)
        for notification in new.prefix(newCount) { count(notification.kind) }
        if newCount > 0 { wakeSignal.wake() }
        return newCount
    }

    func count(_ kind: NotificationKind) { counters[kind]?.increment() }

    private static func check(_ request: NotificationRequest, at path: String) throws {
        guard !request.id.isEmpty else { throw APIError.missing("\(path).id") }
        guard request.id.utf8.count <= maximumID else {
            throw APIError.invalid("\(path).id", "must have at most \(maximumID) bytes", code: "too_long")
        }
        guard !request.applicationId.isEmpty else { throw APIError.missing("\(path).applicationId") }
        guard request.recipients.count <= NotificationRequest.maximumRecipients else {
            throw APIError.invalid(
                "\(path).recipients",
                "must have at most \(NotificationRequest.maximumRecipients) users",
                code: "too_many"
            )
        }
        for (field, message) in [("titleMessage", request.titleMessage), ("bodyMessage", request.bodyMessage)] {
            guard let message, try message.encoded.utf8.count > maximumMessage else { continue }
            let limit = "must have at most \(maximumMessage) bytes with its arguments"
            throw APIError.invalid("\(path).\(field)", limit, code: "too_long")
        }
        let withheld = request.withheld ?? []
        guard withheld.reduce(0, { $0 + $1.userIds.count }) <= NotificationRequest.maximumRecipients else {
            throw APIError.invalid(
                "\(path).withheld",
                "must have at most \(NotificationRequest.maximumRecipients) users",
                code: "too_many"
            )
        }
        guard withheld.allSatisfy({ 1...maximumReason ~= $0.reason.utf8.count }) else {
            throw APIError.invalid("\(path).withheld", "each reason must have 1 to \(maximumReason) bytes")
        }
        switch request.data {
        case nil, .null, .object: break
        default:
            throw APIError.invalid("\(path).data", "the field \"data\" must be an object", code: "invalid_type")
        }
    }
}

extension NewNotification {
    fileprivate init(_ request: NotificationRequest, _ texts: PushTexts, at now: Date) throws {
        var named: Set<[UInt8]> = []
        let lifetime = request.ttl.map { min(max($0, 1), ContentRules.lifetimes.upperBound) }
        var data: String?
        if case .object(let members) = request.data, !members.isEmpty {
            data = String(decoding: try JSONValue.object(members).compact(), as: UTF8.self)
        }
        self.init(
            application: request.applicationId,
            id: request.id,
            kind: request.kind,
            title: request.title.flatMap { $0.isEmpty ? nil : $0 },
            androidTitle: request.androidTitle.flatMap { $0.isEmpty ? nil : $0 },
            body: request.body.flatMap { $0.isEmpty ? nil : $0 },
            data: data,
            sound: request.sound,
            image: request.image,
            badge: request.badge,
            collapseKey: request.collapseKey,
            about: request.about,
            community: nil,
            priority: request.priority ?? .high,
            audience: .people(request.recipients.filter { named.insert(Array($0.userId.utf8)).inserted }),
            createdAt: now,
            dueAt: now,
            expiresAt: now.addingTimeInterval(TimeInterval(lifetime ?? ContentRules.lifetimes.upperBound)),
            mentions: Array((request.mentions ?? []).prefix(NotificationRequest.maximumRecipients)),
            withheld: request.withheld ?? []
        )
        // A newer release of the sender may use a key that this release does not have.
        if let message = request.titleMessage, let text = texts.text(message) {
            (title, titleMessage) = (text, message)
        }
        if let message = request.bodyMessage, let text = texts.text(message) { (body, bodyMessage) = (text, message) }
    }
}
