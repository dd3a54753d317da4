import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A row of `posts`, without its files.
struct PostRecord: Sendable {
    var id: UUID
    var user: User.ID
    var draft: FeedDraft
    /// The native id of the thread that a reply belongs to.
    var thread: String?
    var createdAt: Date
    var dueAt: Date
    var isScheduled: Bool
    var isDone = false

    /// Returns whether another post has the same content, apart from its time.
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

    /// Stores a post, or returns the one that an earlier attempt has stored.
    ///
    /// A stored post from before `expiry` is a different one with the same id, and is deleted.
    func insert(_ post: PostRecord, expiry: Date) async throws -> PostRecord {
        try await db.run("DELETE FROM posts WHERE post_id = \(post.id) AND created_at < \(expiry) AND NOT is_scheduled")
        return try await db.one(
            """
            INSERT INTO posts AS existing (
                post_id, application_id, user_id, draft, thread, created_at, due_at, is_scheduled
            )
            VALUES (
                \(post.id), \(post.user.application), \(post.user.user), \(PostgresJSON(encoding: post.draft)),
                \(post.thread), \(post.createdAt), \(post.dueAt), \(post.isScheduled)
            )
            ON CONFLICT ON CONSTRAINT posts_pkey DO UPDATE SET draft = existing.draft
            RETURNING \(unsafe: columns)
            """,
            as: PostRecord.init(row:)
        )
    }

    func post(_ id: UUID) async throws -> PostRecord? {
        try await db.first("SELECT \(unsafe: columns) FROM posts WHERE post_id = \(id)", as: PostRecord.init(row:))
    }

    /// Claims due posts until `end`, so that no other instance publishes them.
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

    /// Marks a post as done and deletes its files.
    func finish(_ id: UUID) async throws {
        try await db.run("UPDATE posts SET is_done = true, claimed_until = NULL WHERE post_id = \(id)")
        try await db.run("DELETE FROM post_media WHERE post_id = \(id)")
    }

    /// Returns a user's scheduled posts and the recently published ones, by time.
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

    /// Returns the number of a user's waiting posts and the bytes of their files.
    ///
    /// An advisory lock keeps other transactions from counting the same user's posts until this one ends.
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

    /// Returns the bytes of files of the user's other immediate posts.
    ///
    /// An advisory lock keeps other transactions from counting the same user's files until this one ends.
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

    /// Deletes a scheduled post that no instance has started to publish; returns false if there is none.
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
    static let scheduledPost = SetAsideKind(
        "scheduled_post",
        table: "posts",
        key: ["post_id": "uuid"],
        due: "claimed_until",
        pending: "t.is_scheduled AND NOT t.is_done"
    )
}

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
    func decoded<Value: Decodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        try WireJSON.decoder().decode(type, from: Data(json(column).utf8))
    }
}
