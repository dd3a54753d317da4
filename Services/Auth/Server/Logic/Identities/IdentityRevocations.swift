import Foundation
import Logging
import Postgres
import ServiceHost
import Wire

/// Has providers forget who has unlinked them or left, as Apple asks of every app (TN3194).
struct IdentityRevocations: Sendable {
    private static let batch = 20
    /// How often one is tried; the pauses between grow to a day, so it goes on for about three weeks.
    private static let maximumAttempts = 30

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let providers: [String: any IdentityProvider]
    let logger: Logger
    let now: @Sendable () -> Date

    /// What a sealed token belongs to.
    static func owner(_ key: IdentityStore.Key) -> String { "identity\n\(key.provider)\n\(key.subject)" }

    /// Tells what is due, on any instance and on several at once.
    func deliver() async throws {
        let store = IdentityRevocationStore(db: database)
        let due = try await store.claim(dueAt: now(), retryAt: now().addingTimeInterval(60), limit: Self.batch)
        for record in due { try await deliver(record, store) }
    }

    /// The tokens that are kept for revocation: of linked identities, and of those that are to be revoked.
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
            // Of a provider that is set no more nobody can ask anything.
            if let provider = providers[record.identity.provider] {
                let token = try encryptor.open(record.token, for: Self.owner(record.identity))
                try await provider.revoke(String(decoding: token, as: UTF8.self))
            }
            try await store.delete(record.id)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let isOver = record.attempts >= Self.maximumAttempts
            logger.log(
                level: isOver ? .error : .notice,
                "identity not revoked",
                metadata: ["provider": "\(record.identity.provider)", "attempts": "\(record.attempts)"]
            )
            guard !isOver else { return try await store.delete(record.id) }
            let pause = min(86_400, 30 * pow(2, Double(record.attempts)))
            try await store.delay(record.id, until: now().addingTimeInterval(pause))
        }
    }
}
