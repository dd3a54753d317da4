import Credentials
import Foundation
import Postgres
import Wire

/// The source of auth's own credential verifier: the database tables.
///
/// `RevocationFeed` notifies the verifier of each revocation at once. This source provides the initial state, and
/// catches up on missed notifications.
struct LocalCredentials: CredentialSource {
    let database: PostgresPool
    /// Seconds after which a revocation is no longer needed.
    let revocationLifetime: Int
    let now: @Sendable () -> Date

    func keyDocument() async throws -> KeyDocument {
        let keys = try await SigningKeyStore(db: database.reads).list()
        guard !keys.isEmpty else { throw APIError.unavailable("the key document") }
        return KeyDocument(keys)
    }

    func revocations(after: Int64?) async throws -> RevocationPage {
        if after != nil { try await Task.sleep(for: RevocationFeed.longPollTimeout) }
        let age = after == nil ? TimeInterval(revocationLifetime) : RevocationFeed.overlap
        let records = try await RevocationStore(db: database.reads)
            .list(after: after ?? .max, orSince: now().addingTimeInterval(-age))
        return RevocationPage(
            revocations: records.map { Revocation($0, lifetime: TimeInterval(revocationLifetime)) },
            after: max(records.map(\.serial).max() ?? 0, after ?? 0)
        )
    }

    func sessions(of hashes: [String]) async throws -> [KnownSession] {
        let hashes = hashes.compactMap { Base64URL.decode($0) }
        return try await SessionStore(db: database.reads).sessions(withTokenHashes: hashes)
    }

    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        try await ApplicationStore(db: database.reads).activeKeys(names.compactMap { ApplicationKey($0) })
    }
}
