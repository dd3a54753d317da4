import Foundation
import Logging
import Postgres
import ServiceHost
import Wire

/// The worker that revokes the tokens of unlinked identities at the providers, as Apple requires of every app (TN3194).
struct IdentityRevocations: Sendable {
    private static let batch = 20
    /// The most attempts per token; the delays grow to a day, so attempts continue for about three weeks.
    private static let maximumAttempts = 30

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let providers: [String: any IdentityProvider]
    let logger: Logger
    let now: @Sendable () -> Date

    /// Returns the owner for which a token is encrypted.
    static func owner(_ key: IdentityStore.Key) -> String { "identity\n\(key.provider)\n\(key.subject)" }

    /// Revokes the tokens that are due.
    ///
    /// Several instances may run this concurrently.
    func deliver() async throws {
        let store = IdentityRevocationStore(db: database)
        let due = try await store.claim(dueAt: now(), retryAt: now().addingTimeInterval(60), limit: Self.batch)
        for record in due { try await deliver(record, store) }
    }

    /// The encrypted tokens: those of linked identities, and those to be revoked.
    static let encrypted = ["identities", "identity_revocations"].map { table in
        Reencryption.Column(
            table,
            value: "encrypted_token",
            keyID: "encryption_key_id",
            columns: table == "identities" ? ["provider", "subject"] : ["provider", "subject", "revocation_id"]
        ) { owner(IdentityStore.Key(provider: $0[0], subject: $0[1])) }
    }

    private func deliver(_ record: IdentityRevocationStore.Record, _ store: IdentityRevocationStore) async throws {
        do {
            // Without a configured provider no request is possible; the row is deleted.
            if let provider = providers[record.identity.provider] {
                let token = try encryptor.open(record.token, for: Self.owner(record.identity))
                try await provider.revoke(String(decoding: token, as: UTF8.self))
            }
            try await store.delete(record.id)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let isLastAttempt = record.attempts >= Self.maximumAttempts
            logger.log(
                level: isLastAttempt ? .error : .notice,
                "identity revocation failed",
                metadata: ["provider": "\(record.identity.provider)", "attempts": "\(record.attempts)"]
            )
            guard !isLastAttempt else { return try await store.delete(record.id) }
            let pause = min(86_400, 30 * pow(2, Double(record.attempts)))
            try await store.delay(record.id, until: now().addingTimeInterval(pause))
        }
    }
}
