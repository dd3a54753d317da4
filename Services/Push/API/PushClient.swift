package import ServiceClient
import Wire

/// A client for services that send notifications; the `ServiceClient` carries the service token.
package struct PushClient: Sendable {
    package static let maximumNotifications = 100

    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Sends up to `maximumNotifications` notifications; returns after push stored them.
    ///
    /// The caller can repeat a failed call, because push ignores an id that it already has.
    @discardableResult
    package func notify(_ notifications: [NotificationRequest]) async throws -> NotificationsAccepted {
        try await service.post("/internal/notifications", ["notifications": notifications])
    }
}

extension PushClient {
    package func queue() async throws -> QueueReport {
        try await service.get("/internal/push/queue", timeout: .seconds(30))
    }

    /// Lists failed notifications before `id`, the newest first.
    package func failures(before id: Int64? = nil, limit: Int = 100) async throws -> [PushFailure] {
        let query = [("limit", "\(limit)")] + (id.map { [("before", "\($0)")] } ?? [])
        return try await service.get("/internal/push/failures", query: query, as: Page<PushFailure>.self).items
    }

    /// Queues the selected failures again.
    package func retry(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        try await service.post("/internal/push/failures/retry", selection, timeout: .seconds(60))
    }

    package func drop(_ selection: PushFailureSelection) async throws -> PushFailuresChanged {
        try await service.post("/internal/push/failures/drop", selection, timeout: .seconds(60))
    }
}
