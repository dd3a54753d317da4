import Foundation
import NIOCore
import Postgres
import SocialAPI

/// The table `post_media`: the files of scheduled posts, and of immediate posts while a network fetches them.
struct MediaStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ content: PostContent, of post: UUID) async throws {
        for (element, media) in [("photo", content.photo), ("video", content.video)] {
            guard let media else { continue }
            try await db.run(
                """
                INSERT INTO post_media (post_id, element, media_type, alt, bytes)
                VALUES (\(post), \(element), \(media.type), \(media.alt), \(Array(media.bytes.readableBytesView)))
                ON CONFLICT ON CONSTRAINT post_media_pkey DO UPDATE
                SET media_type = EXCLUDED.media_type, alt = EXCLUDED.alt, bytes = EXCLUDED.bytes
                """
            )
        }
    }

    func media(of post: UUID) async throws -> [String: OutgoingMedia] {
        let all = try await db.all("SELECT element, media_type, alt, bytes FROM post_media WHERE post_id = \(post)") {
            let bytes = ByteBuffer(bytes: try $0.bytes("bytes"))
            let media = OutgoingMedia(
                bytes: bytes,
                type: try $0.string("media_type"),
                alt: try $0.optionalString("alt")
            )
            return (try $0.string("element"), media)
        }
        return Dictionary(uniqueKeysWithValues: all)
    }

    /// Returns the type and the size in bytes of a file; nil if it does not exist.
    func describe(_ element: PostElement, of post: UUID) async throws -> (type: String, size: Int64)? {
        try await db.first(
            """
            SELECT media_type, octet_length(bytes)::bigint AS size FROM post_media
            WHERE post_id = \(post) AND element = \(element.rawValue)
            """,
            as: { (type: try $0.string("media_type"), size: try $0.int64("size")) }
        )
    }

    /// Returns a part of a file; empty if the file was deleted.
    func piece(of element: PostElement, of post: UUID, from offset: Int64, length: Int64) async throws -> [UInt8] {
        try await db.first(
            """
            SELECT substring(bytes FROM \(offset + 1)::integer FOR \(length)::integer) AS piece FROM post_media
            WHERE post_id = \(post) AND element = \(element.rawValue)
            """,
            as: { try $0.bytes("piece") }
        ) ?? []
    }

    func delete(of post: UUID) async throws {
        try await db.run("DELETE FROM post_media WHERE post_id = \(post)")
    }

    /// Deletes the files of immediate posts from before a time.
    func deleteFetched(postedBefore date: Date) async throws {
        try await db.run(
            """
            DELETE FROM post_media USING posts
            WHERE posts.post_id = post_media.post_id AND NOT posts.is_scheduled AND posts.created_at < \(date)
            """
        )
    }
}
