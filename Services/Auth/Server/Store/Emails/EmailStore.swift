import Foundation
import Postgres
import ServiceHost

/// The table `emails`.
struct EmailStore {
    let db: any PostgresExecutor

    func insert(_ kind: Email.Kind, to address: String, about account: UUID?, id: UUID, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO emails (email_id, kind, address, user_id, created_at, due_at)
            VALUES (\(id), \(kind.rawValue), \(address), \(account), \(now), \(now))
            """
        )
    }

    /// Queues an email to the verified address of an account, if it has one.
    func insert(_ kind: Email.Kind, toOwnerOf account: UUID, id: UUID, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO emails (email_id, kind, address, user_id, created_at, due_at)
            SELECT \(id), \(kind.rawValue), email, user_id, \(now), \(now)
            FROM accounts
            WHERE user_id = \(account) AND email_verified
            """
        )
    }

    /// Claims the email that is due longest, until `lease`.
    ///
    /// The result is empty, or one email that may be unreadable.
    func claim(at now: Date, until lease: Date) async throws -> (values: [Email], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE emails SET due_at = \(lease), attempts = attempts + 1
            WHERE email_id = (
                SELECT email_id FROM emails
                WHERE due_at <= \(now)
                ORDER BY due_at
                LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
            RETURNING email_id, kind, address, user_id, created_at, attempts
            """
        ).decoded(key: { [try $0.uuid("email_id").uuidString] }) { row in
            guard let kind = Email.Kind(rawValue: try row.string("kind")) else {
                throw UnreadableRow("emails", "kind is unknown")
            }
            return Email(
                id: try row.uuid("email_id"),
                kind: kind,
                address: try row.string("address"),
                account: try row.optionalUUID("user_id"),
                createdAt: try row.date("created_at"),
                attempts: try row.int("attempts")
            )
        }
    }

    func postpone(_ id: UUID, until date: Date) async throws {
        try await db.run("UPDATE emails SET due_at = \(date) WHERE email_id = \(id)")
    }

    func delete(_ kind: Email.Kind, of account: UUID) async throws {
        try await db.run("DELETE FROM emails WHERE user_id = \(account) AND kind = \(kind.rawValue)")
    }

    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM emails WHERE email_id = \(id)")
    }
}

extension SetAsideKind {
    static let email = SetAsideKind("email", table: "emails", key: ["email_id": "uuid"], due: "due_at")
}
