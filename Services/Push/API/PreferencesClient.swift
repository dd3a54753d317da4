package import ServiceClient
package import Wire

/// A client for the signed-in user's own devices, settings and subscriptions.
///
/// The `ServiceClient` carries the user's credential.
package struct PreferencesClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    @discardableResult
    package func register(_ draft: DeviceDraft) async throws -> Device {
        try await service.post("/devices", draft)
    }

    package func devices() async throws -> [Device] {
        try await service.get("/devices", query: [("limit", "100")], as: Page<Device>.self).items
    }

    package func remove(_ device: Device) async throws {
        _ = try await service.delete("/devices/\(device.id)", as: DeviceRemoval.self)
    }

    package func applicationServerKey() async throws -> ApplicationServerKey {
        try await service.get("/push/vapid-key")
    }

    package func settings() async throws -> NotificationSettings {
        try await service.get("/notification-settings")
    }

    @discardableResult
    package func change(_ changes: NotificationSettingsChanges) async throws -> NotificationSettings {
        try await service.put("/notification-settings", changes)
    }

    package func subscriptions(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Subscription> {
        var query: [(String, String)] = []
        if let limit { query.append(("limit", "\(limit)")) }
        if let cursor { query.append(("cursor", cursor)) }
        return try await service.get("/subscriptions", query: query)
    }

    package func subscription(_ broadcaster: String) async throws -> Subscription {
        try await service.get(path(to: broadcaster))
    }

    @discardableResult
    package func subscribe(
        to broadcaster: String,
        _ changes: SubscriptionChanges = SubscriptionChanges()
    ) async throws -> Subscription {
        try await service.put(path(to: broadcaster), changes)
    }

    package func unsubscribe(from broadcaster: String) async throws {
        _ = try await service.delete(path(to: broadcaster), as: SubscriptionRemoval.self)
    }

    @discardableResult
    package func join(topic: String) async throws -> TopicSubscription {
        try await service.put("/topics/\(ServiceClient.percentEncoded(topic))/subscription")
    }

    @discardableResult
    package func leave(topic: String) async throws -> TopicSubscription {
        try await service.delete("/topics/\(ServiceClient.percentEncoded(topic))/subscription")
    }

    private func path(to broadcaster: String) -> String {
        "/subscriptions/\(ServiceClient.percentEncoded(broadcaster))"
    }
}

/// A client for a service that imports a user's favourites.
///
/// The `ServiceClient` carries the service token.
package struct SubscriptionsClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Adds favourites, except those that the user has or once removed; existing favourites stay unchanged.
    package func add(
        _ broadcasters: [SubscriptionImport.Broadcaster],
        to user: User.ID
    ) async throws -> ImportedSubscriptions {
        try await service.post("/internal/subscriptions/import", SubscriptionImport(of: user, broadcasters))
    }
}
