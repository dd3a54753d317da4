import Postgres
import PushAPI
import ServiceHost
import Wire

/// Publishes which users have a device, as the event `devices.changed`.
///
/// Push publishes a user's first device at registration. Devices disappear in many ways: a removal, the end of a
/// session, a rejection by a provider. A periodic comparison therefore publishes the users who lost their last device.
/// The comparison also finds devices that an earlier release registered.
struct DeviceOwners: Sendable {
    private static let batch = 5_000

    let database: PostgresPool
    let events: EventOutbox

    /// Without a subscriber push records nothing, so that a subscriber added later receives all owners.
    private var isPublished: Bool { !events.subscribers(of: DevicesChanged.self).isEmpty }

    /// Publishes that a user has a device, unless push published this before.
    func add(_ user: User.ID, in db: PostgresTransaction) async throws {
        guard isPublished, try await DeviceOwnerStore(db: db).insert(user) else { return }
        try await events.write(Self.change(of: user, hasDevice: true), in: db)
    }

    /// Publishes the differences between the table of devices and the published owners.
    func compare() async throws {
        guard isPublished else { return }
        while try await publishMissing() == Self.batch {}
        while try await publishStale() == Self.batch {}
    }

    private func publishMissing() async throws -> Int {
        try await database.transaction { db in
            let users = try await DeviceOwnerStore(db: db).insertMissing(limit: Self.batch)
            try await events.write(users.map { Self.change(of: $0, hasDevice: true) }, in: db)
            return users.count
        }
    }

    private func publishStale() async throws -> Int {
        try await database.transaction { db in
            let users = try await DeviceOwnerStore(db: db).deleteStale(limit: Self.batch)
            try await events.write(users.map { Self.change(of: $0, hasDevice: false) }, in: db)
            return users.count
        }
    }

    private static func change(of user: User.ID, hasDevice: Bool) -> DevicesChanged {
        DevicesChanged(applicationId: user.application, userId: user.user, hasDevice: hasDevice)
    }
}
