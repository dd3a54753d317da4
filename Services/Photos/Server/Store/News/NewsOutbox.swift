import Foundation
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The tables `news` and `news_groups`, as those see them who hand on what waits there.
struct NewsOutbox: Sendable {
    /// How many of those who have done it are named to a telephone at most.
    private static let named = 3
    /// Beyond so many nobody is counted.
    private static let counted = 1_000

    /// That a row of `news` says what is so still, of somebody whom no block keeps apart from who is told.
    private static let isSoStill = """
        (CASE news.kind
            WHEN 'comment' THEN EXISTS (
                SELECT FROM comments
                WHERE comments.author_id = news.recipient_id AND comments.number = news.number
                    AND comments.comment_id = news.comment_id
            )
            WHEN 'like' THEN EXISTS (
                SELECT FROM likes
                WHERE likes.author_id = news.recipient_id AND likes.number = news.number
                    AND likes.liker_id = news.actor_id
            )
            ELSE EXISTS (
                SELECT FROM follows
                WHERE follows.follower_id = news.actor_id AND follows.followee_id = news.recipient_id
            )
        END
        AND NOT EXISTS (
            SELECT FROM blocks
            WHERE blocks.blocker_id = news.recipient_id AND blocks.blocked_id = news.actor_id
        )
        AND NOT EXISTS (
            SELECT FROM blocks
            WHERE blocks.blocker_id = news.actor_id AND blocks.blocked_id = news.recipient_id
        ))
        """

    private let lane: PostgresLane

    init(database: PostgresPool) {
        lane = database.lane(statementTimeout: .seconds(5))
    }

    /// Takes groups that are due for so many seconds, each with a round that nothing is added to any more.
    ///
    /// A round that another had claimed and did not live to settle is the same one still.
    func claim(
        by claimant: String,
        limit: Int,
        seconds: Double
    ) async throws -> (values: [NewsRound], unreadable: [FailedRow]) {
        try await lane.segment([
            """
            WITH due AS (
                SELECT recipient_id, kind, number FROM news_groups
                WHERE waiting_since IS NOT NULL AND due_at <= clock_timestamp()
                    AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
                ORDER BY due_at LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            UPDATE news_groups AS groups
            SET claimed_by = \(claimant), claimed_until = clock_timestamp() + make_interval(secs => \(seconds)),
                telling = coalesce(groups.telling, groups.collecting),
                collecting = CASE WHEN groups.telling IS NULL THEN groups.collecting + 1 ELSE groups.collecting END
            FROM due
            WHERE groups.recipient_id = due.recipient_id AND groups.kind = due.kind AND groups.number = due.number
            RETURNING groups.recipient_id, groups.kind, groups.number, groups.telling
            """
        ])[0].decoded(
            key: { row in
                [
                    "\(try row.int64("recipient_id"))", try row.string("kind"), "\(try row.int64("number"))",
                ]
            }
        ) { row in
            let kind = try row.string("kind")
            guard PhotoNews.Kind(rawValue: kind) != nil else { throw UnreadableRow("news_groups", "kind is unknown") }
            return NewsRound(
                recipient: try row.decode("recipient_id"),
                kind: kind,
                number: try row.int64("number"),
                round: try row.int64("telling")
            )
        }
    }

    /// What is to be said of these rounds: nothing of one that is not so any more.
    ///
    /// Those who have done it come newest first, without whom a block keeps apart from the one who is told.
    func facts(of rounds: [NewsRound]) async throws -> (values: [NewsFacts], unreadable: [FailedRow]) {
        try await lane.segment([
            """
            SELECT asked.place, people.application_id, people.user_id, actors.users, actors.names, actors.count,
                   actors.comment,
                   posts.like_count - (
                       SELECT count(*) FROM likes
                       WHERE likes.author_id = asked.recipient_id AND likes.number = asked.number
                           AND likes.liker_id = asked.recipient_id
                   ) AS like_count,
                   (SELECT thumbnail_url FROM post_images
                    WHERE post_images.author_id = asked.recipient_id AND post_images.number = asked.number
                    ORDER BY place LIMIT 1) AS thumbnail
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number)),
                \(rounds.map(\.round))
            ) WITH ORDINALITY AS asked (recipient_id, kind, number, round, place)
            JOIN people ON people.person_id = asked.recipient_id
            LEFT JOIN posts ON posts.author_id = asked.recipient_id AND posts.number = asked.number
            CROSS JOIN LATERAL (
                SELECT (array_agg(user_id ORDER BY written_at DESC))[1:\(Self.named)] AS users,
                       (array_agg(full_name ORDER BY written_at DESC))[1:\(Self.named)] AS names,
                       (array_agg(text ORDER BY written_at DESC))[1] AS comment,
                       count(*) AS count
                FROM (
                    SELECT DISTINCT ON (news.actor_id) news.written_at, actors.user_id, actors.full_name, comments.text
                    FROM news
                    JOIN people AS actors ON actors.person_id = news.actor_id
                    LEFT JOIN comments ON asked.kind = 'comment' AND comments.author_id = asked.recipient_id
                        AND comments.number = asked.number AND comments.comment_id = news.comment_id
                    WHERE news.recipient_id = asked.recipient_id AND news.kind = asked.kind
                        AND news.number = asked.number AND news.round = asked.round
                        AND \(unsafe: Self.isSoStill)
                    ORDER BY news.actor_id, news.written_at DESC LIMIT \(Self.counted)
                ) AS told
            ) AS actors
            WHERE actors.count > 0
            """
        ])[0].decoded(key: { rounds[try $0.int("place") - 1].key }) { row in
            NewsFacts(
                round: rounds[try row.int("place") - 1],
                recipient: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
                users: try row.decode("users"),
                names: try row.decode("names"),
                count: try row.int("count"),
                likes: try row.decodeIfPresent("like_count", as: Int64.self).map(Int.init) ?? 0,
                comment: try row.optionalString("comment"),
                thumbnail: try row.optionalString("thumbnail")
            )
        }
    }

    /// These rounds are done; what came meanwhile waits for `pause` seconds.
    ///
    /// Of those in `untold`, in which nothing was so any more, what is so again goes into the next round, and the rest is
    /// forgotten, so that it is news when it comes again.
    func settle(_ rounds: [NewsRound], untold: [NewsRound], by claimant: String, pause: Double) async throws {
        _ = try await lane.segment([
            // Nobody notes anything meanwhile: the statements after this one see what was noted before.
            """
            SELECT FROM news_groups AS groups
            JOIN unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
                ON groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number
            ORDER BY groups.recipient_id, groups.kind, groups.number FOR NO KEY UPDATE OF groups
            """,
            """
            DELETE FROM news
            USING unnest(
                \(untold.map(\.recipient.rawValue)), \(untold.map(\.kind)), \(untold.map(\.number)),
                \(untold.map(\.round))
            ) AS untold (recipient_id, kind, number, round)
            WHERE news.recipient_id = untold.recipient_id AND news.kind = untold.kind
                AND news.number = untold.number AND news.round = untold.round AND NOT \(unsafe: Self.isSoStill)
            """,
            """
            UPDATE news SET round = groups.collecting
            FROM news_groups AS groups, unnest(
                \(untold.map(\.recipient.rawValue)), \(untold.map(\.kind)), \(untold.map(\.number)),
                \(untold.map(\.round))
            ) AS untold (recipient_id, kind, number, round)
            WHERE news.recipient_id = untold.recipient_id AND news.kind = untold.kind
                AND news.number = untold.number AND news.round = untold.round
                AND groups.recipient_id = untold.recipient_id AND groups.kind = untold.kind
                AND groups.number = untold.number AND groups.claimed_by = \(claimant)
            """,
            """
            UPDATE news_groups AS groups
            SET telling = NULL, claimed_by = NULL, claimed_until = NULL,
                due_at = clock_timestamp() + make_interval(secs => \(pause)),
                waiting_since = (
                    SELECT min(news.written_at) FROM news
                    WHERE news.recipient_id = groups.recipient_id AND news.kind = groups.kind
                        AND news.number = groups.number AND news.round = groups.collecting
                )
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
            WHERE groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number AND groups.claimed_by = \(claimant)
            """,
        ])
    }

    /// Lets others have them, or this claimant again, after so many seconds.
    func release(_ rounds: [NewsRound], by claimant: String, after seconds: Double = 0) async throws {
        _ = try await lane.segment([
            """
            UPDATE news_groups AS groups
            SET claimed_by = NULL, claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
            WHERE groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number AND groups.claimed_by = \(claimant)
            """
        ])
    }

    /// How many groups wait, and for how many seconds the oldest has been due.
    func lag() async throws -> (waiting: Int, oldest: Double) {
        let rows = try await lane.segment([
            """
            SELECT count(*) AS waiting,
                   coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8 AS oldest
            FROM news_groups WHERE waiting_since IS NOT NULL AND claimed_until IS DISTINCT FROM 'infinity'
            """
        ])[0]
        return try rows.first.map { (try $0.int("waiting"), max(0, try $0.double("oldest"))) } ?? (0, 0)
    }
}

/// What of a group is told at a time.
struct NewsRound: Hashable, Sendable {
    let recipient: Person.ID
    let kind: String
    /// Of the recipient's post; 0 for followers.
    let number: Int64
    let round: Int64

    /// As it names the group's row where the row is set aside.
    var key: [String] { ["\(recipient.rawValue)", kind, "\(number)"] }
}

extension SetAsideKind {
    /// Likes, comments or followers that push is to be told of.
    static let news = SetAsideKind(
        "news",
        table: "news_groups",
        key: ["recipient_id": "bigint", "kind": "text", "number": "bigint"],
        due: "claimed_until",
        clock: .database,
        postponing: "claimed_by = NULL",
        pending: "t.waiting_since IS NOT NULL",
        dropping: .set(
            "waiting_since = NULL, telling = NULL, collecting = t.collecting + 1, claimed_until = NULL"
        )
    )
}

/// What is to be said of a round.
struct NewsFacts: Sendable {
    let round: NewsRound
    let recipient: User.ID
    /// Those who have done it, newest first, three at most, and what they are called.
    let users: [String]
    let names: [String]
    /// How many have in this round.
    let count: Int
    /// How many like the post in all, the recipient left out.
    let likes: Int
    /// The newest comment.
    let comment: String?
    /// The path of the post's first thumbnail.
    let thumbnail: String?
}
