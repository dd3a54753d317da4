import PhotosAPI
import Postgres
import Wire

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

    func profiles(of users: [User.ID], for viewer: Person) async throws -> [User.ID: StoredProfile] {
        guard !users.isEmpty else { return [:] }
        let found = try await db.all(
            """
            SELECT \(profileFor: viewer.id), people.has_visited,
                   \(unblocked: "people.person_id", by: viewer.id) AS is_visible
            FROM people
            WHERE application_id = \(viewer.user.application) AND user_id = ANY (\(users.map(\.user)))
            """,
            as: { row in
                StoredProfile(
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

    /// How many index entries of each word of a query are counted, to find its rarest word.
    static var probe: Int { 2_000 }
    /// How many index entries of the rarest word are compared with the other words.
    ///
    /// Only a query of very common prefixes, such as "an ma ri" among a million users, has more entries and may miss
    /// users.
    static var window: Int { 20_000 }

    /// Returns the users of the viewer's application whose names match all `words` as prefixes, in the order of names.
    ///
    /// `people_names` has each name once for each of its words, rotated so that the word comes first. So a range of its
    /// primary key contains the names in which a word starts with a given prefix.
    ///
    /// The statement first reads the ranges in which two of the words are adjacent, as in "maria lo", and stops if they
    /// give enough users. Otherwise it counts the range of each word, up to `probe`. It reads the smallest range in
    /// order, up to `window`, and keeps the rows that also contain the other words.
    ///
    /// A user has at most `names` rows, so `limit * names` rows are enough for `limit` users.
    func found(by words: [String], for viewer: Person, limit: Int, names: Int) async throws -> [Profile] {
        let pairs = words.indices.flatMap { first in
            words.indices.filter { $0 != first }.map { "\(words[first]) \(words[$0])" }
        }
        let beginnings = pairs.isEmpty ? words : pairs
        // The last Unicode scalar: no name contains a later one.
        let last = "\u{10FFFF}"
        // Words are letters, digits and marks, so they contain no special characters of LIKE.
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

/// A row of `people`, as a viewer sees it.
struct StoredProfile: Sendable {
    let profile: Profile
    /// False for a user who has never used photos, whose row exists because of a block or an avatar import.
    let hasVisited: Bool
    /// Whether no block exists between the two users.
    let isVisible: Bool
}

extension PostgresQuery.StringInterpolation {
    /// Appends the condition that a name matches all patterns, each of which matches from the start of a word.
    fileprivate mutating func appendInterpolation(name column: String, has patterns: [String]) {
        appendLiteral("true")
        // The patterns are compared one by one, because PostgreSQL would unpack an array again for each row.
        for pattern in patterns {
            appendLiteral(" AND ' ' || \(column) LIKE ")
            appendInterpolation(pattern)
        }
    }

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
