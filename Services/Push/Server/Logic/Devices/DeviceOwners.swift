import Postgres
import PushAPI
import ServiceHost
import Wire

/// Publishes which users have a device, as the event `devices.changed`.
///
/// A user's first device is published when it is registered. Devices go in many ways (a removal, the end of a session, a
/// refusal by a push service), so a periodic comparison publishes the users who lost their last device. The comparison
/// also finds the devices that an earlier release registered.
struct DeviceOwners: Sendable {
    /// The most users that one round publishes in one transaction.
    private static let batch = 5_000

    let database: PostgresPool
    let events: EventOutbox

    /// Without a subscriber nothing is recorded, so that a subscriber added later receives all owners.
    private var isPublished: Bool { !events.subscribers(of: DevicesChanged.self).isEmpty }

    /// Publishes that a user has a device, unless that was published before.
    func add(_ user: User.ID, in db: PostgresTransaction) async throws {
        guard isPublished, try await DeviceOwnerStore(db: db).insert(user) else { return }
        try await events.write(Self.change(of: user, hasDevice: true), in: db)
    }

    /// Publishes what the devices and the published owners differ in.
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
