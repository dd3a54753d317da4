import Foundation
import NIOCore
import Postgres

/// The table `post_media`: files of posts for later.
struct MediaStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ content: PostContent, of post: UUID) async throws {
        for (element, media) in [("photo", content.photo), ("video", content.video)] {
            guard let media else { continue }
            try await db.run(
                """
                INSERT INTO post_media (post_id, element, media_type, alt, bytes)
                VALUES (\(post), \(element), \(media.type), \(media.alt), \(Array(media.bytes.readableBytesView)))
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
}
