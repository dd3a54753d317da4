import Foundation
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle

/// Forgets what no longer matters, once a minute: each statement may run on any instance, and on several at once.
struct Retention: Service {
    /// How long a device is known after its last sign-in, in seconds.
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

    /// Does it once.
    func deleteExpired() async throws {
        let now = now()
        func ago(_ seconds: Int) -> Date { now.addingTimeInterval(-TimeInterval(seconds)) }
        let revocations = ago(configuration.revocationLifetime)
        _ = try await RevocationStore(db: database).delete(before: revocations)
        // A while longer than what it signed may live, for instances that noticed the rotation late.
        _ = try await SigningKeyStore(db: database).delete(retiredBefore: revocations.addingTimeInterval(-300))
        _ = try await LoginFailureStore(db: database)
            .delete(before: ago(max(configuration.loginWindow, EmailOutbox.strangerWindow)))
        _ = try await KnownDeviceStore(db: database).delete(
            signedInBefore: now.addingTimeInterval(-Self.deviceLifetime)
        )
        _ = try await AuditStore(db: database).delete(before: ago(configuration.auditDays * 86_400))
        // A while longer than they count, for instances with clocks apart.
        _ = try await SpentNonceStore(db: database).delete(expiredBefore: ago(60))
        _ = try await LoginChallengeStore(db: database).delete(expiredBefore: now)
        _ = try await EmailLinkStore(db: database).delete(expiredBefore: now)
        _ = try await ConsentStore(db: database).delete(endedBefore: now)
        try await sessionRevocations.deleteExpired(seenBefore: ago(configuration.sessionIdleLifetime))
    }
}
