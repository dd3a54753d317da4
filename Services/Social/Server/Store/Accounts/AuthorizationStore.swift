import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A row of `authorizations`: a pending authorization.
struct AuthorizationRecord: Sendable {
    /// The SHA-256 of the state parameter, which the network returns.
    var stateHash: Data
    var user: User.ID
    var session: String
    var network: Network
    var redirectURL: String
    var payload: TokenEncryptor.EncryptedValue
    var endsAt: Date
}

/// The table `authorizations`.
struct AuthorizationStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ record: AuthorizationRecord) async throws {
        try await db.run(
            """
            INSERT INTO authorizations (
                state_hash, application_id, user_id, session_id, network, redirect_url, payload, key_id, ends_at
            )
            VALUES (
                \(record.stateHash), \(record.user.application), \(record.user.user), \(record.session),
                \(record.network.rawValue), \(record.redirectURL), \(record.payload.box), \(record.payload.keyID),
                \(record.endsAt)
            )
            """
        )
    }

    /// Returns an authorization whose redirect has not arrived yet.
    func waiting(_ stateHash: Data, on network: Network, now: Date) async throws -> AuthorizationRecord? {
        try await db.first(
            """
            SELECT \(unsafe: columns) FROM authorizations
            WHERE state_hash = \(stateHash) AND network = \(network.rawValue) AND code_hash IS NULL AND ends_at > \(now)
            """,
            as: AuthorizationRecord.init(row:)
        )
    }

    /// Stores the result of the network's redirect under a one-time code; returns false if there was a redirect before.
    func save(_ payload: TokenEncryptor.EncryptedValue, codeHash: Data, of stateHash: Data) async throws -> Bool {
        try await db.run(
            """
            UPDATE authorizations SET payload = \(payload.box), key_id = \(payload.keyID), code_hash = \(codeHash)
            WHERE state_hash = \(stateHash) AND code_hash IS NULL
            """
        ) == 1
    }

    /// Deletes and returns the authorization of a code, if it belongs to the session that started it.
    func redeem(
        codeHash: Data,
        of user: User.ID,
        session: String,
        on network: Network,
        now: Date
    ) async throws -> AuthorizationRecord? {
        try await db.first(
            """
            DELETE FROM authorizations
            WHERE code_hash = \(codeHash) AND application_id = \(user.application) AND user_id = \(user.user)
                AND session_id = \(session) AND network = \(network.rawValue) AND ends_at > \(now)
            RETURNING \(unsafe: columns)
            """,
            as: AuthorizationRecord.init(row:)
        )
    }

    func count(of user: User.ID, now: Date) async throws -> Int {
        try await db.one(
            """
            SELECT count(*) AS waiting FROM authorizations
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND ends_at > \(now)
            """,
            as: { try $0.int("waiting") }
        )
    }

    func delete(endedBefore date: Date) async throws {
        try await db.run("DELETE FROM authorizations WHERE ends_at <= \(date)")
    }

    func deleteAll(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM authorizations WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

private let columns = "state_hash, application_id, user_id, session_id, network, redirect_url, payload, key_id, ends_at"

extension AuthorizationRecord {
    fileprivate init(row: PostgresRow) throws {
        let network = try row.string("network")
        guard let knownNetwork = Network(rawValue: network) else {
            throw UnreadableRow("authorizations", network)
        }
        self.init(
            stateHash: try row.decode("state_hash"),
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            session: try row.string("session_id"),
            network: knownNetwork,
            redirectURL: try row.string("redirect_url"),
            payload: TokenEncryptor.EncryptedValue(box: try row.decode("payload"), keyID: try row.string("key_id")),
            endsAt: try row.date("ends_at")
        )
    }
}
