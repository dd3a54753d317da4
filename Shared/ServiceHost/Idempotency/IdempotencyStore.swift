import Credentials
import Foundation
import Postgres
import Wire

/// The table `idempotency_keys`, which every service has.
///
/// While a request is running, and after a failure, `body` holds its token.
struct IdempotencyStore: Sendable {
    /// The retention of responses in seconds.
    static let retention = 86_400.0
    /// The time in seconds after which a started request counts as crashed; longer than any request may take.
    static let abandonedAfter = 60.0
    /// The maximum size in bytes of a stored response.
    static let maximumBodySize = 16_384
    /// The maximum number of a user's keys in 24 hours; every request counts them.
    static let maximumUserKeys = 1_000
    /// The limit for an application's server, which acts for all users of the application.
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
        /// The user has reached the limit; the oldest key expires after `retryAfter` seconds.
        case full(retryAfter: Int)
        /// The request is completed; `body` is nil if the response was too large to store.
        case completed(status: Int, contentType: String, body: [UInt8]?)
    }

    static let migrations = [
        Migration(name: "V0000_create_idempotency_keys", sql: PackageResources.idempotency_keys_sql)
    ]

    let db: any PostgresExecutor

    func begin(_ entry: Entry) async throws -> StartResult {
        let oldest = entry.at.addingTimeInterval(-Self.retention)
        let token = try await db.first(
            """
            INSERT INTO idempotency_keys AS existing (application_id, user_id, key, fingerprint, begun_at, body)
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
                    WHEN existing.status IS NULL AND existing.fingerprint = excluded.fingerprint
                        AND existing.begun_at >= \(oldest)
                    THEN coalesce(existing.body, excluded.body) ELSE excluded.body
                END
            WHERE existing.begun_at < \(oldest)
                OR existing.status IS NULL AND existing.begun_at <= \(entry.at.addingTimeInterval(-Self.abandonedAfter))
            RETURNING encode(body, 'hex')::uuid AS token
            """,
            as: { try $0.uuid("token") }
        )
        if let token { return .started(token: token) }
        let existing = try await db.first(
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
        guard let existing else { return try await full(entry, since: oldest) ?? .running }
        guard existing.fingerprint == entry.fingerprint else { return .otherRequest }
        guard let status = existing.status else { return .running }
        return .completed(status: status, contentType: existing.contentType ?? "application/json", body: existing.body)
    }

    /// Returns the error of a reached limit, or nil if the user has fewer keys: then the row was deleted meanwhile.
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

    /// Deletes the key of a request that changed nothing.
    func delete(_ entry: Entry) async throws {
        try await db.run(
            """
            DELETE FROM idempotency_keys
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND begun_at = \(entry.at) AND status IS NULL
            """
        )
    }

    /// Stores the response; a body larger than `maximumBodySize` is omitted.
    ///
    /// - Returns: false if the request already has a response, was started again, or belongs to a deleted user.
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

    /// Allows an immediate retry; the token stays, because the failed request may have had an effect.
    func release(_ entry: Entry) async throws {
        try await db.run(
            """
            UPDATE idempotency_keys SET begun_at = \(entry.at.addingTimeInterval(-Self.abandonedAfter))
            WHERE application_id = \(entry.user.application) AND user_id = \(entry.user.user) AND key = \(entry.key)
                AND begun_at = \(entry.at) AND status IS NULL
            """
        )
    }

    /// Deletes expired responses.
    func sweep(now: Date) async throws {
        try await db.run("DELETE FROM idempotency_keys WHERE begun_at < \(now.addingTimeInterval(-Self.retention))")
    }
}
