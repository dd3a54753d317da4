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
    func remove(_ devices: [(device: ClaimedEntry.Device, registeredBy: Date)]) async throws -> [DeviceChanged] {
        guard !devices.isEmpty else { return [] }
        return try await db.all(
            """
            DELETE FROM devices
            USING unnest(
                \(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.registeredBy))
            ) AS feedback (device_key, token, registered_by)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
                AND devices.registered_at <= feedback.registered_by
            RETURNING \(unsafe: DeviceChanged.columns)
            """,
            as: DeviceChanged.init(removed:)
        )
    }

    func disable(_ devices: [(device: ClaimedEntry.Device, reason: String)]) async throws -> [DeviceChanged] {
        guard !devices.isEmpty else { return [] }
        return try await db.all(
            """
            UPDATE devices SET disabled_reason = feedback.reason
            FROM unnest(\(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.reason)))
                AS feedback (device_key, token, reason)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
            RETURNING \(unsafe: DeviceChanged.columns)
            """,
            as: DeviceChanged.init(removed:)
        )
    }

    /// Changes the platform of devices whose token works in the other APNs environment; a disabled device stays as it is.
    func move(_ devices: [(device: ClaimedEntry.Device, platform: DevicePlatform)]) async throws -> [DeviceChanged] {
        guard !devices.isEmpty else { return [] }
        return try await db.all(
            """
            UPDATE devices SET platform = feedback.platform
            FROM unnest(
                \(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.platform.rawValue))
            ) AS feedback (device_key, token, platform)
            WHERE devices.device_key = feedback.device_key AND devices.token = feedback.token
                AND devices.disabled_reason IS NULL
            RETURNING \(unsafe: DeviceChanged.columns), devices.platform, devices.token
            """
        ) { row in
            var changed = try DeviceChanged(removed: row)
            changed.platform = try row.string("platform")
            changed.pushToken = try row.string("token")
            return changed
        }
    }
}
