import Credentials
import Foundation
import Postgres
import Wire

/// The table `idempotency_keys`, which every service has.
///
/// While a request is running, or after it has failed, `body` holds its token.
struct IdempotencyStore: Sendable {
    /// How long an answer is kept, in seconds.
    static let retention = 86_400.0
    /// When a request that was begun counts as dead, in seconds; longer than any answer may take.
    static let patience = 60.0

    struct Entry: Sendable {
        let user: User.ID
        let key: String
        let fingerprint: [UInt8]
        let at: Date
    }

    enum Beginning {
        case begun(token: UUID)
        case running, otherRequest
        case answered(status: Int, contentType: String, body: [UInt8])
    }

    static let migrations = [
        Migration(name: "V0000_idempotency_keys", sql: PackageResources.V0000_idempotency_keys_sql)
    ]

    let db: any PostgresExecutor

    func begin(_ entry: Entry) async throws -> Beginning {
        let oldest = entry.at.addingTimeInterval(-Self.retention)
        let token = try await db.first(
            """
            INSERT INTO idempotency_keys AS known (application_id, user_id, key, fingerprint, begun_at, body)
            VALUES (
                \(entry.user.application), \(entry.user.user), \(entry.key), \(entry.fingerprint), \(entry.at),
                uuid_send(gen_random_uuid())
            )
            ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
            SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL, content_type = NULL,
                body = CASE
                    WHEN known.status IS NULL AND known.fingerprint = excluded.fingerprint
                        AND known.begun_at >= \(oldest)
                    THEN coalesce(known.body, excluded.body) ELSE excluded.body
                END
            WHERE known.begun_at < \(oldest)
                OR known.status IS NULL AND known.begun_at <= \(entry.at.addingTimeInterval(-Self.patience))
            RETURNING encode(body, 'hex')::uuid AS token
            """,
            as: { try $0.uuid("token") }
        )
        if let token { return .begun(token: token) }
        let known = try await db.first(
            """
            SELECT fingerprint, status, content_type, body
            FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
            """,
            as: { row in
                (
                    fingerprint: try row.bytes("fingerprint"),
                    status: try row.decodeIfPresent("status", as: Int.self),
                    contentType: try row.decodeIfPresent("content_type", as: String.self),
                    body: try row.decodeIfPresent("body", as: [UInt8].self)
                )
            }
        )
        // Gone in between, with its day or its person: a later try will find the way free.
        guard let known else { return .running }
        guard known.fingerprint == entry.fingerprint else { return .otherRequest }
        guard let status = known.status else { return .running }
        return .answered(status: status, contentType: known.contentType ?? "application/json", body: known.body ?? [])
    }

    /// Keeps the answer; false: there is one, the request was begun again meanwhile, or whose it was is gone.
    func finish(_ entry: Entry, status: Int, contentType: String, body: [UInt8]) async throws -> Bool {
        try await db.run(
            """
            UPDATE idempotency_keys
            SET status = \(status), content_type = \(contentType), body = \(body)
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND fingerprint = \(entry.fingerprint) AND begun_at = \(entry.at) AND status IS NULL
            """
        ) == 1
    }

    /// Lets the request be tried again, now; its token stays, since what failed may have made something.
    func release(_ entry: Entry) async throws {
        try await db.run(
            """
            UPDATE idempotency_keys SET begun_at = \(entry.at.addingTimeInterval(-Self.patience))
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND begun_at = \(entry.at) AND status IS NULL
            """
        )
    }

    /// Forgets answers past their day.
    func sweep(now: Date) async throws {
        try await db.run("DELETE FROM idempotency_keys WHERE begun_at < \(now.addingTimeInterval(-Self.retention))")
    }
}
