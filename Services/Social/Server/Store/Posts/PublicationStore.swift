import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A post's part on one network, as it is kept.
struct PublicationRecord: Sendable {
    enum State: String, Sendable {
        case waiting
        /// The request that people see the result of may be on its way.
        case sent
        /// It was on its way, and nobody knows what came of it.
        case unknown
        case done
    }

    var post: UUID
    var network: Network
    var state: State
    var prepared: PreparedPost?
    var result: PostResult?
    /// How often it was looked for in vain.
    var lookups: Int
    /// When the request that people see the result of was last sent.
    var sentAt: Date?
    /// The post's elements, and whether the network takes each; empty for replies, and rows of earlier releases.
    var parts: [PostElement: Bool] = [:]

    /// The result as a client sees it, with what became of each element; nil while there is none.
    ///
    /// What may have been posted and is still looked for counts as unknown.
    var report: PostResult? {
        let isUnknown = state == .sent || state == .unknown
        guard var report = result ?? (isUnknown ? Publisher.unknown : nil) else { return nil }
        if report.parts.isEmpty { report.parts = parts.mapValues { $0 ? report.code : 422 } }
        return report
    }

    /// As it names the row where the row is set aside.
    var key: [String] { [post.uuidString, network.rawValue] }
}

/// The table `publications`.
struct PublicationStore<Executor: PostgresExecutor> {
    let db: Executor

    /// What is known of the delivery: a new one, or the same from an attempt before.
    ///
    /// - Parameters:
    ///   - post: the post.
    ///   - network: where it is delivered to.
    ///   - parts: the post's elements, and whether the network takes each; an earlier attempt's are kept.
    ///   - now: the time of a new one.
    /// - Returns: the delivery.
    /// - Throws: what the database throws.
    func begin(
        _ post: UUID,
        on network: Network,
        parts: [PostElement: Bool] = [:],
        now: Date
    ) async throws -> PublicationRecord {
        let parts = try parts.isEmpty ? nil : PostgresJSON(encoding: parts)
        return try await db.one(
            """
            INSERT INTO publications AS known (post_id, network, changed_at, parts)
            VALUES (\(post), \(network.rawValue), \(now), \(parts))
            ON CONFLICT ON CONSTRAINT publications_pkey DO UPDATE
            SET changed_at = known.changed_at, parts = coalesce(known.parts, EXCLUDED.parts)
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

    /// Moves on from one state to another; false where somebody else has moved it.
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

    /// Takes some whose outcome has been unknown for a while, and counts the look that is taken.
    ///
    /// The first look is after `pause` seconds, each further one after twice as long.
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
    /// A post on one network of which it is not known whether the network took it.
    static let publication = SetAsideKind(
        "publication",
        table: "publications",
        key: ["post_id": "uuid", "network": "text"],
        // The attempt was no look, and the next one is due when the row's retry is.
        postponing: "changed_at = '-infinity', lookups = lookups - 1",
        pending: "t.state IN ('sent', 'unknown')",
        dropping: .set("state = 'done', changed_at = now()")
    )
}

private let columns = "post_id, network, state, prepared, result, lookups, sent_at, parts"

extension PublicationRecord {
    fileprivate init(row: PostgresRow) throws {
        let (network, state) = (try row.string("network"), try row.string("state"))
        guard let known = Network(rawValue: network), let stands = State(rawValue: state) else {
            throw UnreadableRow("publications", "\(network) \(state)")
        }
        self.init(
            post: try row.uuid("post_id"),
            network: known,
            state: stands,
            prepared: try row.optionalJSON("prepared") == nil ? nil : row.decoded("prepared"),
            result: try row.optionalJSON("result") == nil ? nil : row.decoded("result"),
            lookups: try row.int("lookups"),
            sentAt: try row.optionalDate("sent_at"),
            parts: try row.optionalJSON("parts") == nil ? [:] : row.decoded("parts")
        )
    }
}
