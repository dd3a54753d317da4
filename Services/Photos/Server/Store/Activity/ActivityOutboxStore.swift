import Foundation
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The tables `activities` and `activity_groups`, as the outbox worker uses them.
struct ActivityOutboxStore: Sendable {
    private static let maximumNames = 3
    /// The maximum number of users that are counted in a round.
    private static let maximumCounted = 1_000

    /// The SQL condition that a row of `activities` still applies: the activity still exists, and no block exists
    /// between the two users.
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

    /// Claims due groups for some seconds.
    ///
    /// Each has a round that is closed to new activity.
    ///
    /// A round that another worker claimed and did not complete is claimed again with the same number.
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
                open_round = CASE WHEN groups.delivering_round IS NULL
                    THEN groups.open_round + 1 ELSE groups.open_round END
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

    /// Returns the current content of rounds; rounds without activity that still applies are absent.
    ///
    /// Users come newest first, without those with a block to or from the recipient.
    func content(of rounds: [ActivityRound]) async throws -> (values: [ActivityContent], unreadable: [FailedRow]) {
        try await dedicatedConnection.segment([
            """
            SELECT requested.ordinal, people.application_id, people.user_id, actors.users, actors.names, actors.count,
                   actors.comment,
                   posts.like_count - (
                       SELECT count(*) FROM likes
                       WHERE likes.author_id = requested.recipient_id AND likes.number = requested.number
                           AND likes.liker_id = requested.recipient_id
                   ) AS like_count,
                   (SELECT thumbnail_url FROM post_images
                    WHERE post_images.author_id = requested.recipient_id AND post_images.number = requested.number
                    ORDER BY ordinal LIMIT 1) AS thumbnail
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number)),
                \(rounds.map(\.round))
            ) WITH ORDINALITY AS requested (recipient_id, kind, number, round, ordinal)
            JOIN people ON people.person_id = requested.recipient_id
            LEFT JOIN posts ON posts.author_id = requested.recipient_id AND posts.number = requested.number
            CROSS JOIN LATERAL (
                SELECT (array_agg(user_id ORDER BY written_at DESC))[1:\(Self.maximumNames)] AS users,
                       (array_agg(full_name ORDER BY written_at DESC))[1:\(Self.maximumNames)] AS names,
                       (array_agg(text ORDER BY written_at DESC))[1] AS comment,
                       count(*) AS count
                FROM (
                    SELECT DISTINCT ON (activities.actor_id) activities.written_at, actors.user_id, actors.full_name,
                                                           comments.text
                    FROM activities
                    JOIN people AS actors ON actors.person_id = activities.actor_id
                    LEFT JOIN comments ON requested.kind = 'comment' AND comments.author_id = requested.recipient_id
                        AND comments.number = requested.number AND comments.comment_id = activities.comment_id
                    WHERE activities.recipient_id = requested.recipient_id AND activities.kind = requested.kind
                        AND activities.number = requested.number AND activities.round = requested.round
                        AND \(unsafe: Self.stillApplies)
                    ORDER BY activities.actor_id, activities.written_at DESC LIMIT \(Self.maximumCounted)
                ) AS latest
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

    /// Completes rounds; activity that arrived meanwhile waits for `digestInterval` seconds.
    ///
    /// `undelivered` are rounds that no longer applied when they were read. Of their activities, those that apply again
    /// move to the next round. The others are deleted, so that they count as new when they happen again.
    func complete(
        _ rounds: [ActivityRound],
        undelivered: [ActivityRound],
        by workerID: String,
        digestInterval: Double
    ) async throws {
        _ = try await dedicatedConnection.segment([
            // No activity is recorded while the groups are locked: the statements after this one see all earlier
            // activity.
            """
            SELECT FROM activity_groups AS groups
            JOIN unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS completed (recipient_id, kind, number)
                ON groups.recipient_id = completed.recipient_id AND groups.kind = completed.kind
                AND groups.number = completed.number
            ORDER BY groups.recipient_id, groups.kind, groups.number FOR NO KEY UPDATE OF groups
            """,
            """
            DELETE FROM activities
            USING unnest(
                \(undelivered.map(\.recipient.rawValue)), \(undelivered.map(\.kind)), \(undelivered.map(\.number)),
                \(undelivered.map(\.round))
            ) AS undelivered (recipient_id, kind, number, round)
            WHERE activities.recipient_id = undelivered.recipient_id AND activities.kind = undelivered.kind
                AND activities.number = undelivered.number AND activities.round = undelivered.round
                AND NOT \(unsafe: Self.stillApplies)
            """,
            """
            UPDATE activities SET round = groups.open_round
            FROM activity_groups AS groups, unnest(
                \(undelivered.map(\.recipient.rawValue)), \(undelivered.map(\.kind)), \(undelivered.map(\.number)),
                \(undelivered.map(\.round))
            ) AS undelivered (recipient_id, kind, number, round)
            WHERE activities.recipient_id = undelivered.recipient_id AND activities.kind = undelivered.kind
                AND activities.number = undelivered.number AND activities.round = undelivered.round
                AND groups.recipient_id = undelivered.recipient_id AND groups.kind = undelivered.kind
                AND groups.number = undelivered.number AND groups.claimed_by = \(workerID)
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
            ) AS completed (recipient_id, kind, number)
            WHERE groups.recipient_id = completed.recipient_id AND groups.kind = completed.kind
                AND groups.number = completed.number AND groups.claimed_by = \(workerID)
            """,
        ])
    }

    /// Releases claims, so that any worker can claim the rounds again after some seconds.
    func release(_ rounds: [ActivityRound], by workerID: String, after seconds: Double = 0) async throws {
        _ = try await dedicatedConnection.segment([
            """
            UPDATE activity_groups AS groups
            SET claimed_by = NULL, claimed_until = clock_timestamp() + make_interval(secs => \(seconds))
            FROM unnest(
                \(rounds.map(\.recipient.rawValue)), \(rounds.map(\.kind)), \(rounds.map(\.number))
            ) AS released (recipient_id, kind, number)
            WHERE groups.recipient_id = released.recipient_id AND groups.kind = released.kind
                AND groups.number = released.number AND groups.claimed_by = \(workerID)
            """
        ])
    }

    /// Returns how many groups wait, and for how many seconds the oldest one has been due.
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

/// The activities of a group that are delivered in one notification.
struct ActivityRound: Hashable, Sendable {
    let recipient: Person.ID
    let kind: String
    /// The number of the recipient's post; 0 for follows.
    let number: Int64
    let round: Int64

    /// The key of the group's row in the set-aside list.
    var key: [String] { ["\(recipient.rawValue)", kind, "\(number)"] }
}

extension SetAsideKind {
    /// Likes, comments or follows that are to be delivered to push.
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

struct ActivityContent: Sendable {
    let round: ActivityRound
    let recipient: User.ID
    /// The users who caused the activity, newest first, at most three, and their names.
    let users: [String]
    let names: [String]
    /// The number of users who caused the activity of this round.
    let count: Int
    /// The total number of likes of the post, without the recipient's own.
    let likes: Int
    /// The text of the newest comment.
    let comment: String?
    let thumbnail: String?
}
