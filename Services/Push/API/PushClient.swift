package import ServiceClient
import Wire

/// What the other services ask of push; the `ServiceClient` carries their service token.
package struct PushClient: Sendable {
    /// How many notifications one call may carry.
    package static let maximumNotifications = 100

    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Hands over what people are to be told; when it returns, it is on disk.
    ///
    /// A call that failed may be made again: a notification is known by its id. At most `maximumNotifications` at a time.
    @discardableResult
    package func notify(_ notifications: [NotificationRequest]) async throws -> NotificationsAccepted {
        try await service.post("/internal/notifications", ["notifications": notifications])
    }
}

/// What the operator's command asks of push.
extension PushClient {
    package func queue() async throws -> QueueReport {
        try await service.get("/internal/push/queue", timeout: .seconds(30))
    }

    /// What could not be sent, the newest first; those before `id`.
    package func failures(before id: Int64? = nil, limit: Int = 100) async throws -> [PushFailure] {
        let query = [("limit", "\(limit)")] + (id.map { [("before", "\($0)")] } ?? [])
        return try await service.get("/internal/push/failures", query: query, as: Page<PushFailure>.self).items
    }

    /// Has them sent once more.
    package func retry(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        try await service.post("/internal/push/failures/retry", selection, timeout: .seconds(60))
    }

    /// Gives them up.
    package func drop(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        try await service.post("/internal/push/failures/drop", selection, timeout: .seconds(60))
    }
}
