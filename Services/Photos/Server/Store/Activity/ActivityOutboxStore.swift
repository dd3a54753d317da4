import Foundation
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The tables `activities` and `activity_groups`, as those see them who hand on what waits there.
struct ActivityOutboxStore: Sendable {
    /// How many of those who have done it are named to a telephone at most.
    private static let maximumNames = 3
    /// Beyond so many nobody is counted.
    private static let maximumCounted = 1_000

    /// That a row of `activities` says what is so still, of somebody whom no block keeps apart from who is told.
    private static let stillApplies = """
        (CASE activities.kind
            WHEN 'comment' THEN EXISTS (
                SELECT FROM comments
                WHERE comments.author_id = activities.recipient_id AND comments.number = activities.number
                    AND comments.comment_id = activities.comment_id
            )
            WHEN 'like' THEN EXISTS (
                SELECT FROM likes
                WHERE likes.author_id = activities.recipient_id AND likes.number = activities.number
                    AND likes.liker_id = activities.actor_id
            )
            ELSE EXISTS (
                SELECT FROM follows
                WHERE follows.follower_id = activities.actor_id AND follows.followee_id = activities.recipient_id
            )
        END
        AND NOT EXISTS (
            SELECT FROM blocks
            WHERE blocks.blocker_id = activities.recipient_id AND blocks.blocked_id = activities.actor_id
        )
        AND NOT EXISTS (
            SELECT FROM blocks
            WHERE blocks.blocker_id = activities.actor_id AND blocks.blocked_id = activities.recipient_id
        ))
        """

    private let dedicatedConnection: DedicatedConnection

    init(database: PostgresPool) {
        dedicatedConnection = database.dedicatedConnection(statementTimeout: .seconds(5))
    }

    /// Takes groups that are due for so many seconds, each with a round that nothing is added to any more.
    ///
    /// A round that another had claimed and did not live to settle is the same one still.
    func claim(
        by workerID: String,
        limit: Int,
        seconds: Double
    ) async throws -> (values: [ActivityRound], unreadable: [FailedRow]) {
        try await dedicatedConnection.segment([
            """
            WITH due AS (
                SELECT recipient_id, kind, number FROM activity_groups
                WHERE waiting_since IS NOT NULL AND due_at <= clock_timestamp()
                    AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
                ORDER BY due_at LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            UPDATE activity_groups AS groups
            SET claimed_by = \(workerID), claimed_until = clock_timestamp() + make_interval(secs => \(seconds)),
                delivering_round = coalesce(groups.delivering_round, groups.open_round),
                open_round = CASE WHEN groups.delivering_round IS NULL THEN groups.open_round + 1 ELSE groups.open_round END
            FROM due
            WHERE groups.recipient_id = due.recipient_id AND groups.kind = due.kind AND groups.number = due.number
            RETURNING groups.recipient_id, groups.kind, groups.number, groups.delivering_round
            """
        ])[0].decoded(
            key: { row in
                [
                    "\(try row.int64("recipient_id"))", try row.string("kind"), "\(try row.int64("number"))",
                ]
            }
        ) { row in
            let kind = try row.string("kind")
            guard PhotoActivity.Kind(rawValue: kind) != nil else {
                throw UnreadableRow("activity_groups", "kind is unknown")
            }
            return ActivityRound(
                recipient: try row.decode("recipient_id"),
                kind: kind,
                number: try row.int64("number"),
                round: try row.int64("delivering_round")
            )
        }
    }

    /// What is to be said of these rounds: nothing of one that is not so any more.
    ///
    /// Those who have done it come newest first, without whom a block keeps apart from the one who is told.
    func content(of rounds: [ActivityRound]) async throws -> (values: [ActivityContent], unreadable: [FailedRow]) {
        try await dedicatedConnection.segment([
            """
            SELECT asked.ordinal, people.application_id, people.user_id, actors.users, actors.names, actors.count,
                   actors.comment,
                   posts.like_count - (
                       SELECT count(*) FROM likes
                       WHERE likes.author_id = asked.recipient_id AND likes.number = asked.number
                           AND likes.liker_id = asked.recipient_id
                   ) AS like_count,
                   (SELECT thumbnail_url FROM post_images
                    WHERE post_images.author_id = asked.recipient_id AND post_images.number = asked.number
                    ORDER BY ordinal LIMIT 1) AS thumbnail
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number)),
                \(rounds.map(\.round))
            ) WITH ORDINALITY AS asked (recipient_id, kind, number, round, ordinal)
            JOIN people ON people.person_id = asked.recipient_id
            LEFT JOIN posts ON posts.author_id = asked.recipient_id AND posts.number = asked.number
            CROSS JOIN LATERAL (
                SELECT (array_agg(user_id ORDER BY written_at DESC))[1:\(Self.maximumNames)] AS users,
                       (array_agg(full_name ORDER BY written_at DESC))[1:\(Self.maximumNames)] AS names,
                       (array_agg(text ORDER BY written_at DESC))[1] AS comment,
                       count(*) AS count
                FROM (
                    SELECT DISTINCT ON (activities.actor_id) activities.written_at, actors.user_id, actors.full_name, comments.text
                    FROM activities
                    JOIN people AS actors ON actors.person_id = activities.actor_id
                    LEFT JOIN comments ON asked.kind = 'comment' AND comments.author_id = asked.recipient_id
                        AND comments.number = asked.number AND comments.comment_id = activities.comment_id
                    WHERE activities.recipient_id = asked.recipient_id AND activities.kind = asked.kind
                        AND activities.number = asked.number AND activities.round = asked.round
                        AND \(unsafe: Self.stillApplies)
                    ORDER BY activities.actor_id, activities.written_at DESC LIMIT \(Self.maximumCounted)
                ) AS told
            ) AS actors
            WHERE actors.count > 0
            """
        ])[0].decoded(key: { rounds[try $0.int("ordinal") - 1].key }) { row in
            ActivityContent(
                round: rounds[try row.int("ordinal") - 1],
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

    /// These rounds are done; what came meanwhile waits for `digestInterval` seconds.
    ///
    /// Of those in `undelivered`, in which nothing was so any more, what is so again goes into the next round, and the rest is
    /// forgotten, so that it is new when it comes again.
    func complete(
        _ rounds: [ActivityRound],
        undelivered: [ActivityRound],
        by workerID: String,
        digestInterval: Double
    ) async throws {
        _ = try await dedicatedConnection.segment([
            // Nobody notes anything meanwhile: the statements after this one see what was noted before.
            """
            SELECT FROM activity_groups AS groups
            JOIN unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
                ON groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number
            ORDER BY groups.recipient_id, groups.kind, groups.number FOR NO KEY UPDATE OF groups
            """,
            """
            DELETE FROM activities
            USING unnest(
                \(undelivered.map(\.recipient.rawValue)), \(undelivered.map(\.kind)), \(undelivered.map(\.number)),
                \(undelivered.map(\.round))
            ) AS untold (recipient_id, kind, number, round)
            WHERE activities.recipient_id = untold.recipient_id AND activities.kind = untold.kind
                AND activities.number = untold.number AND activities.round = untold.round AND NOT \(unsafe: Self.stillApplies)
            """,
            """
            UPDATE activities SET round = groups.open_round
            FROM activity_groups AS groups, unnest(
                \(undelivered.map(\.recipient.rawValue)), \(undelivered.map(\.kind)), \(undelivered.map(\.number)),
                \(undelivered.map(\.round))
            ) AS untold (recipient_id, kind, number, round)
            WHERE activities.recipient_id = untold.recipient_id AND activities.kind = untold.kind
                AND activities.number = untold.number AND activities.round = untold.round
                AND groups.recipient_id = untold.recipient_id AND groups.kind = untold.kind
                AND groups.number = untold.number AND groups.claimed_by = \(workerID)
            """,
            """
            UPDATE activity_groups AS groups
            SET delivering_round = NULL, claimed_by = NULL, claimed_until = NULL,
                due_at = clock_timestamp() + make_interval(secs => \(digestInterval)),
                waiting_since = (
                    SELECT min(activities.written_at) FROM activities
                    WHERE activities.recipient_id = groups.recipient_id AND activities.kind = groups.kind
                        AND activities.number = groups.number AND activities.round = groups.open_round
                )
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
            WHERE groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number AND groups.claimed_by = \(workerID)
            """,
        ])
    }

    /// Lets others have them, or this claimant again, after so many seconds.
    func release(_ rounds: [ActivityRound], by workerID: String, after seconds: Double = 0) async throws {
        _ = try await dedicatedConnection.segment([
            """
            UPDATE activity_groups AS groups
            SET claimed_by = NULL, claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS told (recipient_id, kind, number)
            WHERE groups.recipient_id = told.recipient_id AND groups.kind = told.kind
                AND groups.number = told.number AND groups.claimed_by = \(workerID)
            """
        ])
    }

    /// How many groups wait, and for how many seconds the oldest has been due.
    func lag() async throws -> (pending: Int, oldest: Double) {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT count(*) AS waiting,
                   coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8 AS oldest
            FROM activity_groups WHERE waiting_since IS NOT NULL AND claimed_until IS DISTINCT FROM 'infinity'
            """
        ])[0]
        return try rows.first.map { (try $0.int("waiting"), max(0, try $0.double("oldest"))) } ?? (0, 0)
    }
}

/// What of a group is told at a time.
struct ActivityRound: Hashable, Sendable {
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
    static let activity = SetAsideKind(
        "activity",
        table: "activity_groups",
        key: ["recipient_id": "bigint", "kind": "text", "number": "bigint"],
        due: "claimed_until",
        clock: .database,
        postponing: "claimed_by = NULL",
        pending: "t.waiting_since IS NOT NULL",
        dropping: .set(
            "waiting_since = NULL, delivering_round = NULL, open_round = t.open_round + 1, claimed_until = NULL"
        )
    )
}

/// What is to be said of a round.
struct ActivityContent: Sendable {
    let round: ActivityRound
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
