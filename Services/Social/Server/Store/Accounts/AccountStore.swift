import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A row of `accounts`; the tokens are encrypted.
struct AccountRecord: Sendable {
    var user: User.ID
    var network: Network
    var nativeID: String?
    var username: String?
    var avatarUrl: String?
    var instance: String?
    var details: [String: String]
    var tokens: TokenEncryptor.EncryptedValue
    /// The version of the tokens; an update only applies to the version that it was made from.
    var version: Int64 = 1
    var expiresAt: Date?
    var state: LinkState
    var linkedAt: Date
}

/// The id and name of an account on its network, as far as they are known.
struct AccountNames: Sendable {
    var id: String?
    var username: String?
    /// Further ids under which the network names the account as an author, such as the person's beside the page's.
    var authorIDs: Set<String> = []

    /// Returns whether the author is the account itself.
    func contains(_ author: ItemAuthor?) -> Bool {
        guard let author else { return false }
        return author.id == id || authorIDs.contains(author.id) || username != nil && author.username == username
    }
}

/// The table `accounts`: linked accounts.
struct AccountStore<Executor: PostgresExecutor> {
    let db: Executor

    func all(of user: User.ID) async throws -> [AccountRecord] {
        try await db.all(
            """
            SELECT \(unsafe: columns) FROM accounts
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            as: AccountRecord.init(row:)
        )
    }

    func account(of user: User.ID, on network: Network) async throws -> AccountRecord? {
        try await db.first(
            """
            SELECT \(unsafe: columns) FROM accounts
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND network = \(network.rawValue)
            """,
            as: AccountRecord.init(row:)
        )
    }

    func names(of user: User.ID, on network: Network) async throws -> AccountNames {
        try await db.first(
            """
            SELECT native_id, username, details ->> 'authorIDs' AS author_ids FROM accounts
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND network = \(network.rawValue)
            """,
            as: AccountNames.init(row:)
        ) ?? AccountNames()
    }

    /// Links an account in place of an earlier one.
    ///
    /// The version continues, so that a renewal of the earlier account's tokens is discarded.
    func link(_ record: AccountRecord) async throws {
        try await db.run(
            """
            INSERT INTO accounts AS existing (
                application_id, user_id, network, native_id, username, instance, details, tokens, key_id, version,
                expires_at, state, linked_at, avatar_url
            )
            VALUES (
                \(record.user.application), \(record.user.user), \(record.network.rawValue), \(record.nativeID),
                \(record.username), \(record.instance), \(record.detailsJSON), \(record.tokens.box),
                \(record.tokens.keyID), 1, \(record.expiresAt), \(record.state.rawValue), \(record.linkedAt),
                \(record.avatarUrl)
            )
            ON CONFLICT ON CONSTRAINT accounts_pkey DO UPDATE
            SET native_id = excluded.native_id, username = excluded.username, instance = excluded.instance,
                details = excluded.details, tokens = excluded.tokens, key_id = excluded.key_id,
                version = existing.version + 1, expires_at = excluded.expires_at, state = excluded.state,
                linked_at = excluded.linked_at, avatar_url = excluded.avatar_url, renewing_until = NULL
            """
        )
    }

    /// - Returns: The unlinked account; nil if none was linked.
    func unlink(_ network: Network, of user: User.ID) async throws -> AccountRecord? {
        try await db.first(
            """
            DELETE FROM accounts
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND network = \(network.rawValue)
            RETURNING \(unsafe: columns)
            """,
            as: AccountRecord.init(row:)
        )
    }

    func unlinkAll(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM accounts WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

extension AccountStore {
    /// Claims the renewal of tokens for this instance until `end`.
    ///
    /// Returns false if another instance has the claim or the tokens have changed.
    func claimRenewal(of record: AccountRecord, until end: Date, now: Date) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts SET renewing_until = \(end)
            WHERE application_id = \(record.user.application) AND user_id = \(record.user.user)
                AND network = \(record.network.rawValue) AND version = \(record.version)
                AND (renewing_until IS NULL OR renewing_until <= \(now))
            """
        ) == 1
    }

    /// Replaces tokens by renewed ones; returns false if the tokens have changed in the meantime.
    func renew(
        _ record: AccountRecord,
        with tokens: TokenEncryptor.EncryptedValue,
        expiresAt: Date?
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts
            SET tokens = \(tokens.box), key_id = \(tokens.keyID), version = version + 1, expires_at = \(expiresAt),
                state = 'linked', renewing_until = NULL
            WHERE application_id = \(record.user.application) AND user_id = \(record.user.user)
                AND network = \(record.network.rawValue) AND version = \(record.version)
            """
        ) == 1
    }

    /// Sets the state of a version of the tokens and ends the claim on their renewal.
    func settle(_ record: AccountRecord, as state: LinkState) async throws {
        try await db.run(
            """
            UPDATE accounts SET state = \(state.rawValue), renewing_until = NULL
            WHERE application_id = \(record.user.application) AND user_id = \(record.user.user)
                AND network = \(record.network.rawValue) AND version = \(record.version)
            """
        )
    }

    /// Records that a version of the tokens no longer works; returns false if it was recorded before.
    func endTokens(of record: AccountRecord) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts SET state = 'reauthenticate', renewing_until = NULL
            WHERE application_id = \(record.user.application) AND user_id = \(record.user.user)
                AND network = \(record.network.rawValue) AND version = \(record.version) AND state <> 'reauthenticate'
            """
        ) == 1
    }
}

private let columns = """
    application_id, user_id, network, native_id, username, instance, details, tokens, key_id, version, expires_at, state,
    linked_at, avatar_url
    """

extension AccountNames {
    fileprivate init(row: PostgresRow) throws {
        let authorIDs = try row.optionalString("author_ids")?.split(separator: "\n").map(String.init)
        self.init(
            id: try row.optionalString("native_id"),
            username: try row.optionalString("username"),
            authorIDs: Set(authorIDs ?? [])
        )
    }
}

extension AccountRecord {
    fileprivate var detailsJSON: PostgresJSON {
        get throws { PostgresJSON(text: String(decoding: try WireJSON.encoder().encode(details), as: UTF8.self)) }
    }

    fileprivate init(row: PostgresRow) throws {
        let (network, state) = (try row.string("network"), try row.string("state"))
        guard let knownNetwork = Network(rawValue: network), let knownState = LinkState(rawValue: state) else {
            throw UnreadableRow("accounts", "network or state is unknown: \(network) \(state)")
        }
        self.init(
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            network: knownNetwork,
            nativeID: try row.optionalString("native_id"),
            username: try row.optionalString("username"),
            avatarUrl: try row.optionalString("avatar_url"),
            instance: try row.optionalString("instance"),
            details: try WireJSON.decoder().decode([String: String].self, from: Data(row.json("details").utf8)),
            tokens: TokenEncryptor.EncryptedValue(box: try row.decode("tokens"), keyID: try row.string("key_id")),
            version: try row.int64("version"),
            expiresAt: try row.optionalDate("expires_at"),
            state: knownState,
            linkedAt: try row.date("linked_at")
        )
    }
}
