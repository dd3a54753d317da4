import PhotosAPI
import Postgres
import Wire

/// People as others see them: the table `people`, and what ties two of them.
struct ProfileStore<Executor: PostgresExecutor> {
    let db: Executor
    let links: MediaLinks

    func profile(of person: Person.ID, for viewer: Person.ID) async throws -> Profile? {
        try await db.first(
            """
            SELECT \(profileFor: viewer) FROM people
            WHERE person_id = \(person) AND \(unblocked: "people.person_id", by: viewer)
            """,
            as: { try Profile(row: $0, links) }
        )
    }

    /// Whom a viewer finds by a name from `beginning` on that comes before `end`, in the names' order; people of his
    /// application alone.
    ///
    /// One person has so many `names` at most: as many times the `limit` are enough to find so many people.
    func found(
        from beginning: String,
        to end: String,
        by viewer: Person,
        limit: Int,
        names: Int
    ) async throws -> [Profile] {
        try await db.all(
            """
            WITH named AS MATERIALIZED (
                SELECT name, person_id FROM people_names
                WHERE application_id = \(viewer.user.application) AND name >= \(beginning) AND name < \(end)
                    AND \(unblocked: "people_names.person_id", by: viewer.id)
                ORDER BY name, person_id LIMIT \(limit * names)
            ), found AS MATERIALIZED (
                SELECT person_id, min(name) AS name FROM named GROUP BY person_id ORDER BY 2, 1 LIMIT \(limit)
            )
            SELECT \(profileFor: viewer.id) FROM found JOIN people ON people.person_id = found.person_id
            ORDER BY found.name, found.person_id
            """,
            as: { try Profile(row: $0, links) }
        )
    }
}

extension PostgresQuery.StringInterpolation {
    /// What `Profile.init(row:_:)` reads of `people`, as a viewer sees it.
    mutating func appendInterpolation(profileFor viewer: Person.ID) {
        appendLiteral(
            """
            people.person_id, people.user_id, people.full_name, people.picture_url, people.bio, people.post_count,
            people.follower_count, people.following_count,
            EXISTS (SELECT FROM follows WHERE followee_id = people.person_id AND follower_id = 
            """
        )
        appendInterpolation(viewer)
        appendLiteral(") AS is_following, EXISTS (SELECT FROM follows WHERE follower_id = people.person_id")
        appendLiteral(" AND followee_id = ")
        appendInterpolation(viewer)
        appendLiteral(") AS is_followed_by")
    }
}

extension Profile {
    init(row: PostgresRow, _ links: MediaLinks) throws {
        self.init(
            userId: try row.string("user_id"),
            fullName: try row.string("full_name"),
            profilePicture: try row.optionalString("picture_url").map(links.url),
            bio: try row.string("bio"),
            postCount: try row.int64("post_count"),
            followerCount: try row.int64("follower_count"),
            followingCount: try row.int64("following_count"),
            isFollowing: try row.bool("is_following"),
            isFollowedBy: try row.bool("is_followed_by")
        )
    }
}
