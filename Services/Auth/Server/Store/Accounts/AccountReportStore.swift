import AuthAPI
import Foundation
import Postgres
import Wire

/// The operator's view of accounts, from the tables of accounts, names, administrators and sessions.
struct AccountReportStore {
    let db: any PostgresExecutor

    private static let columns = """
        accounts.user_id, accounts.username, accounts.full_name, accounts.email, accounts.email_verified,
        accounts.is_anonymous, accounts.created_at, accounts.disabled_at,
        EXISTS (SELECT FROM administrators WHERE administrators.user_id = accounts.user_id) AS is_administrator,
        (
            SELECT count(*) FROM sessions
            WHERE sessions.application = 'roost' AND sessions.user_id = accounts.user_id::text
        ) AS sessions,
        (
            SELECT max(last_seen_at) FROM sessions
            WHERE sessions.application = 'roost' AND sessions.user_id = accounts.user_id::text
        ) AS last_seen_at
        """

    func find(_ id: UUID) async throws -> AccountReport? {
        try await db.first(
            "SELECT \(unsafe: Self.columns) FROM accounts WHERE user_id = \(id)",
            as: AccountReport.init(row:)
        )
    }

    /// Returns the accounts with a sign-in name that starts with `prefix`, each with that name, in the names' order.
    func list(named prefix: String, after: String?, limit: Int) async throws -> [(name: String, AccountReport)] {
        try await db.all(
            """
            SELECT sign_in_names.name, \(unsafe: Self.columns)
            FROM sign_in_names JOIN accounts ON accounts.user_id = sign_in_names.user_id
            WHERE sign_in_names.name >= \(prefix) AND sign_in_names.name < \(prefix)::text || chr(1114111)
                AND (\(after)::text IS NULL OR sign_in_names.name > \(after))
            ORDER BY sign_in_names.name
            LIMIT \(limit)
            """
        ) { row in (try row.string("name"), try AccountReport(row: row)) }
    }
}

extension AccountReport {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            userId: try row.uuid("user_id").wire,
            username: try row.optionalString("username"),
            fullName: try row.optionalString("full_name"),
            email: try row.optionalString("email"),
            emailVerified: try row.bool("email_verified"),
            isAnonymous: try row.bool("is_anonymous"),
            isAdministrator: try row.bool("is_administrator"),
            createdAt: try row.date("created_at"),
            disabledAt: try row.optionalDate("disabled_at"),
            sessions: try row.int("sessions"),
            lastSeenAt: try row.optionalDate("last_seen_at")
        )
    }
}
