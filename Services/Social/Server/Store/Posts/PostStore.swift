import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A post as it is kept, without its files.
struct PostRecord: Sendable {
    var id: UUID
    var user: User.ID
    var draft: FeedDraft
    /// Of an answer, the native id of the thread that it stands in.
    var thread: String?
    var createdAt: Date
    var dueAt: Date
    var isScheduled: Bool
    var isDone = false

    /// Whether another is the same post, but for its time.
    func hasSameContent(_ other: PostRecord) -> Bool {
        func withoutTime(_ draft: FeedDraft) -> FeedDraft {
            var draft = draft
            draft.at = nil
            return draft
        }
        return thread == other.thread && withoutTime(draft) == withoutTime(other.draft)
    }
}

/// The table `posts`.
struct PostStore<Executor: PostgresExecutor> {
    let db: Executor

    /// What is known of the post: the one given, or the same from an attempt before.
    ///
    /// One that is older than `expiry` is another by the same name, and goes.
    func insert(_ post: PostRecord, expiry: Date) async throws -> PostRecord {
        try await db.run("DELETE FROM posts WHERE post_id = \(post.id) AND created_at < \(expiry) AND NOT is_scheduled")
        return try await db.one(
            """
            INSERT INTO posts AS known (
                post_id, application_id, user_id, draft, thread, created_at, due_at, is_scheduled
            )
            VALUES (
                \(post.id), \(post.user.application), \(post.user.user), \(PostgresJSON(encoding: post.draft)),
                \(post.thread), \(post.createdAt), \(post.dueAt), \(post.isScheduled)
            )
            ON CONFLICT ON CONSTRAINT posts_pkey DO UPDATE SET draft = known.draft
            RETURNING \(unsafe: columns)
            """,
            as: PostRecord.init(row:)
        )
    }

    func post(_ id: UUID) async throws -> PostRecord? {
        try await db.first("SELECT \(unsafe: columns) FROM posts WHERE post_id = \(id)", as: PostRecord.init(row:))
    }

    /// Takes some posts whose time has come, for a while, so that no other instance has them too.
    func claimDue(
        now: Date,
        until end: Date,
        limit: Int
    ) async throws -> (values: [PostRecord], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE posts SET claimed_until = \(end)
            WHERE post_id IN (
                SELECT post_id FROM posts
                WHERE is_scheduled AND NOT is_done AND due_at <= \(now)
                    AND (claimed_until IS NULL OR claimed_until <= \(now))
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING \(unsafe: columns)
            """
        ).decoded(key: { [try $0.uuid("post_id").uuidString] }, as: PostRecord.init(row:))
    }

    /// Notes that all of it is done; its files go.
    func finish(_ id: UUID) async throws {
        try await db.run("UPDATE posts SET is_done = true, claimed_until = NULL WHERE post_id = \(id)")
        try await db.run("DELETE FROM post_media WHERE post_id = \(id)")
    }

    /// Somebody's posts for later, and those of late, by their time.
    func scheduled(of user: User.ID, after: ScheduledPosition?, limit: Int) async throws -> [PostRecord] {
        try await db.all(
            """
            SELECT \(unsafe: columns) FROM posts
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND is_scheduled
                AND (\(after?.at) IS NULL OR (due_at, post_id) > (\(after?.at), \(after?.id)))
            ORDER BY due_at, post_id LIMIT \(limit)
            """,
            as: PostRecord.init(row:)
        )
    }

    /// How many posts of a user wait, and how many bytes their files have; until the transaction ends, no other one of this
    /// user counts them.
    func lockWaiting(of user: User.ID) async throws -> (posts: Int, bytes: Int) {
        try await db.run(
            """
            SELECT pg_advisory_xact_lock(hashtextextended('scheduled ' || \(user.application) || ' ' || \(user.user), 0))
            """
        )
        return try await db.one(
            """
            SELECT count(DISTINCT post_id) AS posts, coalesce(sum(octet_length(bytes)), 0)::bigint AS bytes
            FROM posts LEFT JOIN post_media USING (post_id)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND is_scheduled AND NOT is_done
            """,
            as: { (try $0.int("posts"), try $0.int("bytes")) }
        )
    }

    /// How many bytes of files the user's other posts at once have; until the transaction ends, no other transaction of this
    /// user counts them.
    func lockFetched(of user: User.ID, except id: UUID) async throws -> Int {
        try await db.run(
            """
            SELECT pg_advisory_xact_lock(hashtextextended('fetched ' || \(user.application) || ' ' || \(user.user), 0))
            """
        )
        return try await db.one(
            """
            SELECT coalesce(sum(octet_length(bytes)), 0)::bigint AS bytes
            FROM posts JOIN post_media USING (post_id)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND NOT is_scheduled
                AND post_id <> \(id)
            """,
            as: { try $0.int("bytes") }
        )
    }

    /// Takes back a post that nobody has begun to send; false where there is none.
    func cancel(_ id: UUID, of user: User.ID, now: Date) async throws -> Bool {
        try await db.run(
            """
            DELETE FROM posts
            WHERE post_id = \(id) AND application_id = \(user.application) AND user_id = \(user.user)
                AND is_scheduled AND NOT is_done AND (claimed_until IS NULL OR claimed_until = 'infinity')
                AND NOT EXISTS (SELECT FROM publications WHERE publications.post_id = posts.post_id)
            """
        ) == 1
    }

    func delete(dueBefore date: Date) async throws {
        try await db.run("DELETE FROM posts WHERE due_at < \(date) AND (is_done OR NOT is_scheduled)")
    }

    func deleteAll(of user: User.ID) async throws {
        try await db.run("DELETE FROM posts WHERE application_id = \(user.application) AND user_id = \(user.user)")
    }
}

extension SetAsideKind {
    /// A post for later whose time has come.
    static let scheduledPost = SetAsideKind(
        "scheduled_post",
        table: "posts",
        key: ["post_id": "uuid"],
        due: "claimed_until",
        pending: "t.is_scheduled AND NOT t.is_done"
    )
}

/// A place in the list of posts for later.
struct ScheduledPosition: Codable, Sendable {
    var at: Date
    var id: UUID
}

private let columns = "post_id, application_id, user_id, draft, thread, created_at, due_at, is_scheduled, is_done"

extension PostRecord {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("post_id"),
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            draft: try row.decoded("draft"),
            thread: try row.optionalString("thread"),
            createdAt: try row.date("created_at"),
            dueAt: try row.date("due_at"),
            isScheduled: try row.bool("is_scheduled"),
            isDone: try row.bool("is_done")
        )
    }
}

extension PostgresJSON {
    init(encoding value: some Encodable) throws {
        self.init(text: String(decoding: try WireJSON.encoder().encode(value), as: UTF8.self))
    }
}

extension PostgresRow {
    /// A column of JSON as what it was made of.
    func decoded<Value: Decodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        try WireJSON.decoder().decode(type, from: Data(json(column).utf8))
    }
}
