import Foundation
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle

/// The periodic deletion of expired rows, once a minute.
///
/// Several instances may run it concurrently.
struct Retention: Service {
    /// Seconds after its last sign-in during which a device counts as known.
    static let deviceLifetime: TimeInterval = 180 * 86_400
    private static let interval: Duration = .seconds(60)

    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let configuration: AuthConfiguration
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async {
        await PeriodicTask("retention", every: Self.interval, logger: logger, deleteExpired).run()
    }

    /// Deletes all expired rows once.
    func deleteExpired() async throws {
        let now = now()
        func ago(_ seconds: Int) -> Date { now.addingTimeInterval(-TimeInterval(seconds)) }
        let revocations = ago(configuration.revocationLifetime)
        _ = try await RevocationStore(db: database).delete(before: revocations)
        // Keys stay five minutes longer than their tokens, for instances that noticed the rotation late.
        _ = try await SigningKeyStore(db: database).delete(retiredBefore: revocations.addingTimeInterval(-300))
        _ = try await LoginFailureStore(db: database)
            .delete(before: ago(max(configuration.loginWindow, EmailOutbox.strangerWindow)))
        _ = try await KnownDeviceStore(db: database).delete(
            signedInBefore: now.addingTimeInterval(-Self.deviceLifetime)
        )
        _ = try await AuditStore(db: database).delete(before: ago(configuration.auditDays * 86_400))
        // Nonces stay a minute longer than they are valid, for instances with differing clocks.
        _ = try await SpentNonceStore(db: database).delete(expiredBefore: ago(60))
        _ = try await LoginChallengeStore(db: database).delete(expiredBefore: now)
        _ = try await EmailLinkStore(db: database).delete(expiredBefore: now)
        _ = try await ConsentStore(db: database).delete(endedBefore: now)
        try await sessionRevocations.deleteExpired(seenBefore: ago(configuration.sessionIdleLifetime))
    }
}
