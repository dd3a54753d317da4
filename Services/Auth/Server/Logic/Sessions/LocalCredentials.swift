import Credentials
import Foundation
import Postgres
import Wire

/// What auth itself verifies credentials by: its own tables.
///
/// The feed of `RevocationFeed` tells the verifier of each end at once; this is what it is loaded from, and the net below.
struct LocalCredentials: CredentialSource {
    let database: PostgresPool
    /// Seconds that a revocation matters.
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
        return try await SessionStore(db: database.reads).known(byTokens: hashes)
    }

    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        try await ApplicationStore(db: database.reads).known(names.compactMap { ApplicationKey($0) })
    }
}
