import Blobs
import Postgres
import ServiceHost
import Wire

/// Reads the rows about a user from all tables, for the user's data export.
///
/// Content of other users is not included; rows contain only their user ids.
struct ExportStore<Executor: PostgresExecutor> {
    let db: Executor

    struct Image: Sendable {
        var key: BlobKey
        var mediaType: String?
    }

    func profile(of person: Person.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'fullName', full_name, 'bio', bio, 'picture', picture_url, 'searchable', searchable,
                'postCount', post_count, 'followerCount', follower_count, 'followingCount', following_count,
                'createdAt', \(unsafe: ExportPages.time("created_at"))
            )::text AS row
            FROM people WHERE person_id = \(person)
            """,
            of: db
        )
    }

    func posts(of person: Person.ID, after last: [Int64]?) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[number] AS place, json_build_object(
                'number', number, 'text', text, 'timestamp', \(unsafe: ExportPages.time("created_at")),
                'editedAt', \(unsafe: ExportPages.time("edited_at")),
                'hiddenAt', \(unsafe: ExportPages.time("hidden_at")),
                'likeCount', like_count, 'commentCount', comment_count,
                'images', (
                    SELECT coalesce(json_agg(json_build_object('url', url, 'alt', alt) ORDER BY ordinal), '[]')
                    FROM post_images
                    WHERE post_images.author_id = posts.author_id AND post_images.number = posts.number
                )
            )::text AS row
            FROM posts
            WHERE author_id = \(person) AND number > \(last?.first ?? 0)
            ORDER BY number
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    func comments(of person: Person.ID, after last: [Int64]?) async throws -> ExportPages.Page {
        let last = last ?? [0, 0, 0]
        return try await ExportPages.page(
            """
            SELECT ARRAY[comments.author_id, comments.number, comments.comment_id] AS place, json_build_object(
                'postOf', people.user_id, 'postNumber', comments.number, 'text', comments.text,
                'timestamp', \(unsafe: ExportPages.time("comments.created_at")),
                'editedAt', \(unsafe: ExportPages.time("comments.edited_at"))
            )::text AS row
            FROM comments JOIN people ON people.person_id = comments.author_id
            WHERE comments.writer_id = \(person)
                AND (comments.author_id, comments.number, comments.comment_id)
                    > (\(last[0]), \(last[1]), \(last[2]))
            ORDER BY comments.author_id, comments.number, comments.comment_id
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    func likes(of person: Person.ID, after last: [Int64]?) async throws -> ExportPages.Page {
        let last = last ?? [0, 0]
        return try await ExportPages.page(
            """
            SELECT ARRAY[likes.author_id, likes.number] AS place, json_build_object(
                'postOf', people.user_id, 'postNumber', likes.number,
                'timestamp', \(unsafe: ExportPages.time("likes.created_at"))
            )::text AS row
            FROM likes JOIN people ON people.person_id = likes.author_id
            WHERE likes.liker_id = \(person)
                AND (likes.author_id, likes.number) > (\(last[0]), \(last[1]))
            ORDER BY likes.author_id, likes.number
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    func flags(of person: Person.ID, after last: [Int64]?) async throws -> ExportPages.Page {
        let last = last ?? [0, 0, -1]
        return try await ExportPages.page(
            """
            SELECT ARRAY[flags.author_id, flags.number, flags.comment_id] AS place, json_build_object(
                'postOf', people.user_id, 'postNumber', flags.number, 'isOfComment', flags.comment_id > 0,
                'timestamp', \(unsafe: ExportPages.time("flags.created_at"))
            )::text AS row
            FROM flags JOIN people ON people.person_id = flags.author_id
            WHERE flags.flagger_id = \(person)
                AND (flags.author_id, flags.number, flags.comment_id) > (\(last[0]), \(last[1]), \(last[2]))
            ORDER BY flags.author_id, flags.number, flags.comment_id
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    func following(of person: Person.ID, after last: [Int64]?) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[follows.followee_id] AS place, json_build_object(
                'userId', people.user_id, 'since', \(unsafe: ExportPages.time("follows.created_at"))
            )::text AS row
            FROM follows JOIN people ON people.person_id = follows.followee_id
            WHERE follows.follower_id = \(person) AND follows.followee_id > \(last?.first ?? 0)
            ORDER BY follows.followee_id
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    func images(of person: Person.ID, after file: Int64) async throws -> [(file: Int64, Image)] {
        try await db.all(
            """
            SELECT files.file_id, files.full_key, blobs.media_type
            FROM files JOIN blobs ON blobs.owner_id = files.owner_id AND blobs.key = files.full_key
            WHERE files.owner_id = \(person) AND files.file_id > \(file)
            ORDER BY files.file_id
            LIMIT 100
            """
        ) { row -> (file: Int64, Image)? in
            guard let key = BlobKey(try row.string("full_key")) else { return nil }
            let image = Image(key: key, mediaType: try row.optionalString("media_type"))
            return (try row.int64("file_id"), image)
        }.compactMap(\.self)
    }
}
