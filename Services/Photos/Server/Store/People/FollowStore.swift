import Foundation
import PhotosAPI
import Postgres
import Wire

/// The table `follows`, and the follow counts in `people`.
///
/// Locks are taken in one order everywhere: rows of `people` by id, then rows of `follows`. So two locked users cannot
/// start or end to follow each other.
struct FollowStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Locks two users; returns false if one of them was deleted.
    func lock(_ first: Person.ID, _ second: Person.ID) async throws -> Bool {
        try await db.all(
            """
            SELECT person_id FROM people WHERE person_id IN (\(first), \(second)) ORDER BY person_id FOR NO KEY UPDATE
            """,
            as: { _ in }
        ).count == 2
    }

    /// Inserts a follow unless a block exists; returns false if nothing was inserted.
    ///
    /// Posts of an author with at least `mergeThreshold` followers are merged and not copied, as long as the follower
    /// has fewer than `maximumMergedAuthors` such authors. Each merged author costs one lookup per read of the feed.
    func insert(
        _ follower: Person.ID,
        _ followee: Person.ID,
        mergeThreshold: Int,
        maximumMergedAuthors: Int
    ) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO follows (follower_id, followee_id, synced_number, created_at)
            SELECT \(follower), people.person_id,
                   CASE WHEN people.follower_count < \(mergeThreshold) OR \(maximumMergedAuthors) <= (
                       SELECT count(*) FROM follows AS others
                       WHERE others.follower_id = \(follower) AND others.synced_number IS NULL
                   ) THEN 0 END,
                   clock_timestamp()
            FROM people
            WHERE people.person_id = \(followee) AND \(unblocked: "people.person_id", by: follower)
            ON CONFLICT ON CONSTRAINT follows_pkey DO NOTHING
            """
        ) == 1
    }

    func delete(_ follower: Person.ID, _ followee: Person.ID) async throws -> Bool {
        try await db.run("DELETE FROM follows WHERE follower_id = \(follower) AND followee_id = \(followee)") == 1
    }

    func count(_ difference: Int64, _ follower: Person.ID, _ followee: Person.ID) async throws {
        try await db.run(
            """
            UPDATE people
            SET following_count = following_count + CASE WHEN person_id = \(follower) THEN \(difference) ELSE 0 END,
                follower_count = follower_count + CASE WHEN person_id = \(followee) THEN \(difference) ELSE 0 END
            WHERE person_id IN (\(follower), \(followee))
            """
        )
    }

    func following(of follower: Person.ID) async throws -> Int64 {
        try await db.first(
            "SELECT following_count FROM people WHERE person_id = \(follower)",
            as: { try $0.int64("following_count") }
        ) ?? 0
    }
}

struct FollowPosition: Codable, Hashable, Sendable {
    /// When the follow began, in microseconds since 1970.
    let since: Int64
    let person: Int64

    static let start = FollowPosition(since: 253_370_764_800_000_000, person: .max)

    var date: Date { Date(microseconds: since) }
}

struct ListedPerson: Sendable {
    let profile: Profile
    let position: FollowPosition
}

struct FollowListStore<Executor: PostgresExecutor> {
    let db: Executor
    let links: MediaLinks

    func followers(
        of person: Person.ID,
        for viewer: Person.ID,
        after last: FollowPosition,
        limit: Int
    ) async throws -> [ListedPerson] {
        try await list("follower_id", where: "followee_id", is: person, for: viewer, after: last, limit: limit)
    }

    func following(
        of person: Person.ID,
        for viewer: Person.ID,
        after last: FollowPosition,
        limit: Int
    ) async throws -> [ListedPerson] {
        try await list("followee_id", where: "follower_id", is: person, for: viewer, after: last, limit: limit)
    }

    private func list(
        _ listed: String,
        where other: String,
        is person: Person.ID,
        for viewer: Person.ID,
        after last: FollowPosition,
        limit: Int
    ) async throws -> [ListedPerson] {
        try await db.all(
            """
            WITH listed AS MATERIALIZED (
                SELECT \(unsafe: listed) AS listed_id, created_at FROM follows
                WHERE \(unsafe: other) = \(person)
                    AND (created_at, \(unsafe: listed)) < (\(last.date), \(last.person))
                    AND \(unblocked: "follows.\(listed)", by: viewer)
                ORDER BY created_at DESC, \(unsafe: listed) DESC LIMIT \(limit)
            )
            SELECT \(profileFor: viewer), listed.created_at
            FROM listed JOIN people ON people.person_id = listed.listed_id
            ORDER BY listed.created_at DESC, listed.listed_id DESC
            """,
            as: { try ListedPerson(row: $0, links) }
        )
    }
}

extension ListedPerson {
    fileprivate init(row: PostgresRow, _ links: MediaLinks) throws {
        self.init(
            profile: try Profile(row: row, links),
            position: FollowPosition(
                since: try row.date("created_at").microseconds,
                person: try row.int64("person_id")
            )
        )
    }
}
