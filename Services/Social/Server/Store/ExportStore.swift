import Foundation
import Postgres
import ServiceHost
import Wire

/// The queries for a user's data export.
///
/// The tokens of linked accounts are left out, because they grant access.
struct ExportStore<Executor: PostgresExecutor> {
    let db: Executor

    func accounts(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'network', network, 'id', native_id, 'username', username, 'avatarUrl', avatar_url, 'instance', instance, 'state', state,
                'linkedAt', \(unsafe: ExportPages.time("linked_at"))
            )::text AS row
            FROM accounts
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            ORDER BY network
            """,
            of: db
        )
    }

    /// Returns the posts with their results on every network.
    func posts(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'id', post_id, 'draft', draft, 'createdAt', \(unsafe: ExportPages.time("created_at")),
                'thread', thread, 'at', \(unsafe: ExportPages.time("due_at")), 'isScheduled', is_scheduled, 'isDone', is_done,
                'results', (
                    SELECT json_object_agg(network, json_build_object('state', state, 'result', result))
                    FROM publications WHERE publications.post_id = posts.post_id
                )
            )::text AS row
            FROM posts
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            ORDER BY created_at, post_id
            """,
            of: db
        )
    }

    /// Returns the files of the user's posts by post and element, without their bytes.
    func files(of user: User.ID) async throws -> [(post: UUID, element: String)] {
        try await db.all(
            """
            SELECT post_media.post_id, post_media.element FROM post_media
            JOIN posts ON posts.post_id = post_media.post_id
            WHERE posts.application_id = \(user.application) AND posts.user_id = \(user.user)
            ORDER BY posts.created_at, post_media.post_id, post_media.element
            """
        ) { (try $0.uuid("post_id"), try $0.string("element")) }
    }

    /// Returns nil if the file was deleted in the meantime.
    func bytes(of file: (post: UUID, element: String)) async throws -> [UInt8]? {
        try await db.first(
            "SELECT bytes FROM post_media WHERE post_id = \(file.post) AND element = \(file.element)"
        ) { try $0.bytes("bytes") }
    }

    func changes(of user: User.ID, after position: [Int64]?) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[number] AS place, json_build_object(
                'kind', kind, 'list', list, 'id', item_id, 'item', item,
                'at', \(unsafe: ExportPages.time("happened_at"))
            )::text AS row
            FROM changes
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND number > \(position?.first ?? 0)
            ORDER BY number
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }
}
