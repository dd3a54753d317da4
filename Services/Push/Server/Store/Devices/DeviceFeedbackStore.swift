import Foundation
import Postgres
import PushAPI

/// Applies providers' replies to the table `devices`.
///
/// Each change applies only to the registration that the notification was sent to; a newer registration stays
/// unchanged.
struct DeviceFeedbackStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Deletes devices with dead tokens, except those registered after `registeredBy`.
    func remove(_ devices: [(device: ClaimedEntry.Device, registeredBy: Date)]) async throws {
        guard !devices.isEmpty else { return }
        try await db.run(
            """
            DELETE FROM devices
            USING unnest(
                \(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.registeredBy))
            ) AS feedback (device_key, token, registered_by)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
                AND devices.registered_at <= feedback.registered_by
            """
        )
    }

    func disable(_ devices: [(device: ClaimedEntry.Device, reason: String)]) async throws {
        guard !devices.isEmpty else { return }
        try await db.run(
            """
            UPDATE devices SET disabled_reason = feedback.reason
            FROM unnest(\(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.reason)))
                AS feedback (device_key, token, reason)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
            """
        )
    }

    /// Changes the platform of devices whose token works in the other APNs environment.
    func move(_ devices: [(device: ClaimedEntry.Device, platform: DevicePlatform)]) async throws {
        guard !devices.isEmpty else { return }
        try await db.run(
            """
            UPDATE devices SET platform = feedback.platform
            FROM unnest(
                \(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.platform.rawValue))
            ) AS feedback (device_key, token, platform)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
            """
        )
    }
}
