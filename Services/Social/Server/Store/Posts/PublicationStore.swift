import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A row of `publications`: the part of a post on one network.
struct PublicationRecord: Sendable {
    enum State: String, Sendable {
        case waiting
        /// The request that publishes the post may be in progress.
        case sent
        /// The request was sent, and its outcome is unknown.
        case unknown
        case done
    }

    var post: UUID
    var network: Network
    var state: State
    var prepared: PreparedPost?
    var result: PostResult?
    /// The number of lookups that did not find the post.
    var lookups: Int
    /// The time when the request that publishes the post was last sent.
    var sentAt: Date?
    /// The post's elements; the value says whether the network accepts the element.
    ///
    /// Empty for replies and for rows that an earlier release has stored.
    var parts: [PostElement: Bool] = [:]

    /// The result for the client, with the status of each element; nil if there is none yet.
    ///
    /// If the post may have been published and is still looked up, the result is "unknown".
    var report: PostResult? {
        let isUnknown = state == .sent || state == .unknown
        guard var report = result ?? (isUnknown ? Publisher.unknown : nil) else { return nil }
        if report.parts.isEmpty { report.parts = parts.mapValues { $0 ? report.code : 422 } }
        return report
    }

    /// The key of the row when it is set aside.
    var key: [String] { [post.uuidString, network.rawValue] }
}

/// The table `publications`.
struct PublicationStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Stores a publication, or returns the one that an earlier attempt has stored.
    ///
    /// - Parameters:
    ///   - post: The post's id.
    ///   - network: The network to publish on.
    ///   - parts: The post's elements; the value says whether the network accepts the element. Elements that an earlier
    ///     attempt has stored are kept.
    ///   - now: The time of a new publication.
    /// - Returns: The publication.
    /// - Throws: Errors of the database.
    func begin(
        _ post: UUID,
        on network: Network,
        parts: [PostElement: Bool] = [:],
        now: Date
    ) async throws -> PublicationRecord {
        let parts = try parts.isEmpty ? nil : PostgresJSON(encoding: parts)
        return try await db.one(
            """
            INSERT INTO publications AS existing (post_id, network, changed_at, parts)
            VALUES (\(post), \(network.rawValue), \(now), \(parts))
            ON CONFLICT ON CONSTRAINT publications_pkey DO UPDATE
            SET changed_at = existing.changed_at, parts = coalesce(existing.parts, EXCLUDED.parts)
            RETURNING \(unsafe: columns)
            """,
            as: PublicationRecord.init(row:)
        )
    }

    func all(of posts: [UUID]) async throws -> [PublicationRecord] {
        try await db.all(
            "SELECT \(unsafe: columns) FROM publications WHERE post_id = ANY(\(posts))",
            as: PublicationRecord.init(row:)
        )
    }

    func save(_ prepared: PreparedPost?, of publication: PublicationRecord) async throws {
        try await db.run(
            """
            UPDATE publications SET prepared = \(try prepared.map { try PostgresJSON(encoding: $0) })
            WHERE post_id = \(publication.post) AND network = \(publication.network.rawValue)
            """
        )
    }

    /// Changes the state; returns false if another process has changed it before.
    func move(
        _ publication: PublicationRecord,
        from old: PublicationRecord.State,
        to new: PublicationRecord.State,
        result: PostResult? = nil,
        now: Date
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE publications
            SET state = \(new.rawValue), result = \(try result.map { try PostgresJSON(encoding: $0) }),
                changed_at = \(now), sent_at = CASE WHEN \(new == .sent) THEN \(now) ELSE sent_at END
            WHERE post_id = \(publication.post) AND network = \(publication.network.rawValue) AND state = \(old.rawValue)
            """
        ) == 1
    }

    /// Claims publications whose outcome has been unknown for a while, and counts the lookup.
    ///
    /// The first lookup is due after `pause` seconds; the pause doubles with each further one.
    func claimUnknown(
        pausing pause: Double,
        now: Date,
        limit: Int
    ) async throws -> (values: [PublicationRecord], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE publications SET changed_at = \(now), lookups = lookups + 1, state = 'unknown'
            WHERE (post_id, network) IN (
                SELECT post_id, network FROM publications
                WHERE state IN ('sent', 'unknown') AND changed_at + make_interval(secs => \(pause) * power(2, lookups)) < \(now)
                    AND \(isDue: .publication, at: now)
                ORDER BY changed_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING \(unsafe: columns)
            """
        ).decoded(
            key: { [try $0.uuid("post_id").uuidString, try $0.string("network")] },
            as: PublicationRecord.init(row:)
        )
    }
}

extension SetAsideKind {
    /// A publication whose outcome is unknown.
    static let publication = SetAsideKind(
        "publication",
        table: "publications",
        key: ["post_id": "uuid", "network": "text"],
        // The failed attempt was no lookup; the next one is due when the row's retry is due.
        postponing: "changed_at = '-infinity', lookups = lookups - 1",
        pending: "t.state IN ('sent', 'unknown')",
        dropping: .set("state = 'done', changed_at = now()")
    )
}

private let columns = "post_id, network, state, prepared, result, lookups, sent_at, parts"

extension PublicationRecord {
    fileprivate init(row: PostgresRow) throws {
        let (network, state) = (try row.string("network"), try row.string("state"))
        guard let knownNetwork = Network(rawValue: network), let knownState = State(rawValue: state) else {
            throw UnreadableRow("publications", "\(network) \(state)")
        }
        self.init(
            post: try row.uuid("post_id"),
            network: knownNetwork,
            state: knownState,
            prepared: try row.optionalJSON("prepared") == nil ? nil : row.decoded("prepared"),
            result: try row.optionalJSON("result") == nil ? nil : row.decoded("result"),
            lookups: try row.int("lookups"),
            sentAt: try row.optionalDate("sent_at"),
            parts: try row.optionalJSON("parts") == nil ? [:] : row.decoded("parts")
        )
    }
}
