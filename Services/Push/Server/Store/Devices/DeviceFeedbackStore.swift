import Foundation
import Postgres
import PushAPI

/// What push services say about devices, written to the table `devices`.
///
/// Each change is to the registration that was sent to: one that was made anew meanwhile stays as it is.
struct DeviceFeedbackStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Forgets devices whose token is good for nothing, but those that were registered later than the push service knows.
    func remove(_ devices: [(device: ClaimedEntry.Device, registeredBy: Date)]) async throws {
        guard !devices.isEmpty else { return }
        try await db.run(
            """
            DELETE FROM devices
            USING unnest(
                \(devices.map(\.device.key)), \(devices.map(\.device.token)), \(devices.map(\.registeredBy))
            ) AS gone (device_key, token, registered_by)
            WHERE devices.device_key = gone.device_key AND devices.token = gone.token
                AND devices.registered_at <= gone.registered_by
            """
        )
    }

    /// Sends nothing there until it is registered again.
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

    /// The token is good in the other of Apple's environments.
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
