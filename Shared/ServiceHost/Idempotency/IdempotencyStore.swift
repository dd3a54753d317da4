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
    static let abandonedAfter = 60.0
    /// Bytes of a response that is kept.
    static let maximumBodySize = 16_384
    /// Keys of the last 24 hours that a user may have; each request counts them.
    static let maximumUserKeys = 1_000
    /// The same of an application's server, which speaks for all users of the application.
    static let maximumServerKeys = 10_000

    struct Entry: Sendable {
        let user: User.ID
        let key: String
        let fingerprint: [UInt8]
        let at: Date
        var maximumKeys = IdempotencyStore.maximumUserKeys
    }

    enum StartResult {
        case started(token: UUID)
        case running, otherRequest
        /// The user has as many keys as allowed; the first is forgotten after so many seconds.
        case full(retryAfter: Int)
        /// `body` is nil where it was too large to keep.
        case completed(status: Int, contentType: String, body: [UInt8]?)
    }

    static let migrations = [
        Migration(name: "V0000_idempotency_keys", sql: PackageResources.V0000_idempotency_keys_sql)
    ]

    let db: any PostgresExecutor

    func begin(_ entry: Entry) async throws -> StartResult {
        let oldest = entry.at.addingTimeInterval(-Self.retention)
        let token = try await db.first(
            """
            INSERT INTO idempotency_keys AS known (application_id, user_id, key, fingerprint, begun_at, body)
            SELECT \(entry.user.application)::text, \(entry.user.user)::text, \(entry.key)::text,
                \(entry.fingerprint)::bytea, \(entry.at)::timestamptz, uuid_send(gen_random_uuid())
            WHERE (
                    SELECT count(*) FROM idempotency_keys
                    WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user)
                        AND begun_at >= \(oldest)
                ) < \(entry.maximumKeys)::bigint
                OR EXISTS (
                    SELECT FROM idempotency_keys
                    WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user)
                        AND key = \(entry.key)
                )
            ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
            SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL, content_type = NULL,
                body = CASE
                    WHEN known.status IS NULL AND known.fingerprint = excluded.fingerprint
                        AND known.begun_at >= \(oldest)
                    THEN coalesce(known.body, excluded.body) ELSE excluded.body
                END
            WHERE known.begun_at < \(oldest)
                OR known.status IS NULL AND known.begun_at <= \(entry.at.addingTimeInterval(-Self.abandonedAfter))
            RETURNING encode(body, 'hex')::uuid AS token
            """,
            as: { try $0.uuid("token") }
        )
        if let token { return .started(token: token) }
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
        guard let known else { return try await full(entry, since: oldest) ?? .running }
        guard known.fingerprint == entry.fingerprint else { return .otherRequest }
        guard let status = known.status else { return .running }
        return .completed(status: status, contentType: known.contentType ?? "application/json", body: known.body)
    }

    /// Nil where the user has fewer keys than allowed: the row was deleted meanwhile, and a later try succeeds.
    private func full(_ entry: Entry, since oldest: Date) async throws -> StartResult? {
        let (count, first) = try await db.one(
            """
            SELECT count(*) AS count, min(begun_at) AS first
            FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user)
                AND begun_at >= \(oldest)
            """,
            as: { (try $0.int("count"), try $0.decodeIfPresent("first", as: Date.self)) }
        )
        guard count >= entry.maximumKeys, let first else { return nil }
        return .full(retryAfter: max(1, Int(first.timeIntervalSince(oldest).rounded(.up))))
    }

    /// Forgets the key of a request that changed nothing.
    func forget(_ entry: Entry) async throws {
        try await db.run(
            """
            DELETE FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND begun_at = \(entry.at) AND status IS NULL
            """
        )
    }

    /// Keeps the response, without its body where that is larger than `maximumBodySize`.
    ///
    /// - Returns: false where there is one, the request was begun again meanwhile, or the user is gone.
    func finish(_ entry: Entry, status: Int, contentType: String, body: [UInt8]) async throws -> Bool {
        let body = body.count <= Self.maximumBodySize ? body : nil
        return try await db.run(
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
            UPDATE idempotency_keys SET begun_at = \(entry.at.addingTimeInterval(-Self.abandonedAfter))
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
