import AuthAPI
import Foundation
import Postgres
import Wire

/// The table `audit`.
///
/// For an account that does not exist or is being deleted, the same statement runs without an error and inserts
/// nothing.
struct AuditStore {
    /// The most entries of one frequent kind per account; older ones are deleted, so that a flood of logins is bounded.
    static let maximumOfKind = 1_000
    /// The kinds that a client can cause without limit.
    private static let frequent: Set<SecurityEvent.Kind> = [.signedIn, .signInFailed, .sessionEnded]

    let db: any PostgresExecutor

    struct Entry: Sendable {
        var kind: SecurityEvent.Kind
        var at: Date
        var session: UUID?
        var deviceID: String?
        var userAgent: String?
        var address: String?
        var detail: String?
    }

    /// The sign-in history of an account and of one device.
    struct DeviceHistory: Sendable {
        var hasSignedInBefore: Bool
        var isDeviceKnown: Bool
    }

    func insert(_ entry: Entry, of account: UUID?) async throws {
        try await db.run(
            """
            INSERT INTO audit (user_id, kind, happened_at, session_id, device_id, user_agent, address, detail)
            SELECT user_id, \(entry.kind.rawValue), \(entry.at), \(entry.session)::uuid, \(entry.deviceID)::text,
                \(entry.userAgent)::text, \(entry.address)::text, \(entry.detail)::text
            FROM accounts WHERE user_id = \(account) FOR KEY SHARE
            """
        )
        // Runs without an account too, so that the response time does not reveal whether the account exists.
        try await prune(entry.kind, of: account)
    }

    private func prune(_ kind: SecurityEvent.Kind, of account: UUID?) async throws {
        guard Self.frequent.contains(kind) else { return }
        try await db.run(
            """
            DELETE FROM audit
            WHERE user_id = \(account) AND kind = \(kind.rawValue) AND entry_id <= (
                SELECT entry_id FROM audit
                WHERE user_id = \(account) AND kind = \(kind.rawValue)
                ORDER BY entry_id DESC
                OFFSET \(Self.maximumOfKind) LIMIT 1
            )
            """
        )
    }

    /// Inserts the same event for several sessions of Roost's own users.
    func insert(_ kind: SecurityEvent.Kind, ofSessions sessions: [(id: UUID, account: UUID)], at now: Date) async throws
    {
        guard !sessions.isEmpty else { return }
        try await db.run(
            """
            INSERT INTO audit (user_id, kind, happened_at, session_id)
            SELECT accounts.user_id, \(kind.rawValue), \(now), ended.session_id
            FROM unnest(\(sessions.map(\.account)), \(sessions.map(\.id))) AS ended (user_id, session_id)
            JOIN accounts ON accounts.user_id = ended.user_id
            FOR KEY SHARE OF accounts
            """
        )
        for account in Set(sessions.map(\.account)) { try await prune(kind, of: account) }
    }

    /// Returns the history of a device.
    ///
    /// A device is identified by its id, or without an id by its user agent.
    func deviceHistory(of account: UUID, deviceID: String?, userAgent: String?) async throws -> DeviceHistory {
        try await db.one(
            """
            SELECT EXISTS (
                SELECT FROM audit WHERE user_id = \(account) AND kind = 'login.succeeded'
            ) AS has_signed_in_before, EXISTS (
                SELECT FROM audit
                WHERE user_id = \(account) AND kind = 'login.succeeded'
                    AND device_id IS NOT DISTINCT FROM \(deviceID)::text
                    AND (\(deviceID)::text IS NOT NULL OR user_agent IS NOT DISTINCT FROM \(userAgent)::text)
            ) AS is_device_known
            """
        ) { row in
            DeviceHistory(
                hasSignedInBefore: try row.bool("has_signed_in_before"),
                isDeviceKnown: try row.bool("is_device_known")
            )
        }
    }

    /// Returns the events before `entry`, newest first.
    func list(of account: UUID, before entry: Int64?, limit: Int) async throws -> [(id: Int64, event: SecurityEvent)] {
        try await db.all(
            """
            SELECT entry_id, kind, happened_at, session_id, device_id, user_agent, address, detail
            FROM audit
            WHERE user_id = \(account) AND entry_id < \(entry ?? .max)
            ORDER BY entry_id DESC
            LIMIT \(limit)
            """
        ) { row in (try row.int64("entry_id"), try SecurityEvent(row: row)) }
    }

    func delete(before date: Date) async throws -> Int {
        try await db.run("DELETE FROM audit WHERE happened_at < \(date)")
    }
}

extension SecurityEvent {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: "\(try row.int64("entry_id"))",
            kind: try row.string("kind"),
            at: try row.date("happened_at"),
            sessionId: try row.decode("session_id", as: UUID?.self)?.wire,
            deviceId: try row.optionalString("device_id"),
            userAgent: try row.optionalString("user_agent"),
            address: try row.optionalString("address"),
            detail: try row.optionalString("detail")
        )
    }
}
