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

    /// Returns what is known of these users of the viewer's application.
    func profiles(of users: [User.ID], for viewer: Person) async throws -> [User.ID: KnownProfile] {
        guard !users.isEmpty else { return [:] }
        let found = try await db.all(
            """
            SELECT \(profileFor: viewer.id), people.has_visited, \(unblocked: "people.person_id", by: viewer.id) AS is_visible
            FROM people
            WHERE application_id = \(viewer.user.application) AND user_id = ANY (\(users.map(\.user)))
            """,
            as: { row in
                KnownProfile(
                    profile: try Profile(row: row, links),
                    hasVisited: try row.bool("has_visited"),
                    isVisible: try row.bool("is_visible")
                )
            }
        )
        return Dictionary(
            found.map { (User.ID(application: viewer.user.application, user: $0.profile.userId), $0) }
        ) { first, _ in first }
    }

    /// Index entries that are counted of each word of a query, to find its rarest word.
    static var probe: Int { 2_000 }
    /// Index entries of the rarest word that are compared with the other words.
    ///
    /// Only a query of very common beginnings alone, such as "an ma ri" among a million people, has more and may miss
    /// people.
    static var window: Int { 20_000 }

    /// Returns the people of the viewer's application in whose name each of `words` begins a word, in the names' order.
    ///
    /// `people_names` has each name once for each of its words, rotated so that the word comes first: a range of its
    /// primary key holds the names in which a given word begins a word. The statement first reads the ranges in which two
    /// of the words follow each other, as in "maria lo", and is done where these give enough people. Else it counts the
    /// range of each word, as far as `probe`, reads the smallest in its order, as far as `window`, and keeps the rows that
    /// have the other words too. One person has at most `names` rows, so as many times the `limit` are enough to find so many people.
    func found(by words: [String], for viewer: Person, limit: Int, names: Int) async throws -> [Profile] {
        let pairs = words.indices.flatMap { first in
            words.indices.filter { $0 != first }.map { "\(words[first]) \(words[$0])" }
        }
        let beginnings = pairs.isEmpty ? words : pairs
        // The last character there is: names have none that comes after it.
        let last = "\u{10FFFF}"
        // Words are letters, digits and marks, and so have no character that means something in a pattern.
        let patterns = words.map { "% \($0)%" }
        let application = viewer.user.application
        return try await db.all(
            """
            WITH adjacent AS MATERIALIZED (
                SELECT named.name, named.person_id
                FROM unnest(\(beginnings), \(beginnings.map { $0 + last })) AS given (beginning, beginning_end)
                CROSS JOIN LATERAL (
                    SELECT name, person_id FROM people_names
                    WHERE application_id = \(application) AND name >= beginning AND name < beginning_end
                        AND \(name: "name", has: words.count > 2 ? patterns : [])
                        AND \(unblocked: "people_names.person_id", by: viewer.id)
                    ORDER BY name, person_id LIMIT \(limit * names)
                ) AS named
            ), counted AS MATERIALIZED (
                SELECT word, word_end, (
                    SELECT count(*) FROM (
                        SELECT FROM people_names
                        WHERE application_id = \(application) AND name >= word AND name < word_end
                        LIMIT \(Self.probe)
                    ) AS probed
                ) AS entries
                FROM unnest(\(words), \(words.map { $0 + last })) AS given (word, word_end)
                WHERE \(words.count > 1) AND (SELECT count(DISTINCT person_id) FROM adjacent) < \(limit)
            ), rarest AS MATERIALIZED (
                SELECT word, word_end FROM counted ORDER BY entries, length(word) DESC, word LIMIT 1
            ), scattered AS MATERIALIZED (
                SELECT name, person_id FROM (
                    SELECT name, person_id FROM people_names
                    WHERE application_id = \(application)
                        AND name >= (SELECT word FROM rarest) AND name < (SELECT word_end FROM rarest)
                    ORDER BY name, person_id LIMIT \(Self.window)
                ) AS candidates
                WHERE \(name: "name", has: patterns) AND \(unblocked: "candidates.person_id", by: viewer.id)
                ORDER BY name, person_id LIMIT \(limit * names)
            ), found AS MATERIALIZED (
                SELECT person_id, min(name) AS name
                FROM (SELECT * FROM adjacent UNION ALL SELECT * FROM scattered) AS named
                GROUP BY person_id ORDER BY 2, 1 LIMIT \(limit)
            )
            SELECT \(profileFor: viewer.id) FROM found JOIN people ON people.person_id = found.person_id
            ORDER BY found.name, found.person_id
            """,
            as: { try Profile(row: $0, links) }
        )
    }
}

/// A row of `people` as a viewer sees it.
struct KnownProfile: Sendable {
    let profile: Profile
    /// False for a user who has never been here, and of whom only a block is known.
    let hasVisited: Bool
    /// Whether no block keeps the two users apart.
    let isVisible: Bool
}

extension PostgresQuery.StringInterpolation {
    /// Whether a name matches all patterns, each of which begins at a word.
    fileprivate mutating func appendInterpolation(name column: String, has patterns: [String]) {
        appendLiteral("true")
        // Compared one by one, since an array would be taken apart again for each row.
        for pattern in patterns {
            appendLiteral(" AND ' ' || \(column) LIKE ")
            appendInterpolation(pattern)
        }
    }

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
