import AuthAPI
import Foundation
import Postgres

/// The table `administrators`.
struct AdministratorStore {
    let db: any PostgresExecutor

    func contains(_ id: UUID) async throws -> Bool {
        try await db.first("SELECT user_id FROM administrators WHERE user_id = \(id)") { _ in true } ?? false
    }

    func insert(_ id: UUID, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO administrators (user_id, granted_at) VALUES (\(id), \(now))
            ON CONFLICT DO NOTHING
            """
        )
    }

    func delete(_ id: UUID) async throws -> Bool {
        try await db.run("DELETE FROM administrators WHERE user_id = \(id)") == 1
    }

    func list() async throws -> [Administrator] {
        try await db.all(
            """
            SELECT accounts.user_id, accounts.username, administrators.granted_at
            FROM administrators
            JOIN accounts ON accounts.user_id = administrators.user_id
            ORDER BY administrators.granted_at, accounts.user_id
            """
        ) { row in
            Administrator(
                userId: try row.uuid("user_id").wire,
                username: try row.optionalString("username"),
                grantedAt: try row.date("granted_at")
            )
        }
    }
}
