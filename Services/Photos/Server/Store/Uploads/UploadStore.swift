import Postgres
import Wire

/// What a post needs of an upload that it has taken.
struct ClaimedImage: Hashable, Sendable {
    /// A path below `/media/`; so is the other.
    let url: String
    let thumbnailURL: String
    /// Of the larger one, in pixels.
    let width: Int
    let height: Int
    let blurhash: String
}

/// The table `uploads`: images that somebody has brought.
struct UploadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Gives uploads to a post, in their order.
    ///
    /// - Throws: `notFound` for one that is not this person's or has expired, `conflict` for one that is taken.
    func claim(_ ids: [String], by person: Person.ID, for post: PostKey) async throws -> [ClaimedImage] {
        let found = try await db.all(
            """
            UPDATE uploads SET author_id = \(post.author), number = \(post.number)
            WHERE upload_id = ANY (\(ids)) AND owner_id = \(person) AND author_id IS NULL
            RETURNING upload_id
            """,
            as: { try $0.string("upload_id") }
        )
        guard found.count == ids.count else {
            let taken = try await db.first(
                "SELECT FROM uploads WHERE upload_id = ANY (\(ids)) AND owner_id = \(person) AND number <> \(post.number)",
                as: { _ in true }
            )
            guard taken == nil else { throw APIError(.conflict, "upload_used", "an upload serves one post") }
            throw APIError(.notFound, "upload_not_found", "there is no such upload")
        }
        return ids.map { id in
            ClaimedImage(
                url: "/media/\(id)",
                thumbnailURL: "/media/\(id)-small",
                width: 1_280,
                height: 960,
                blurhash: "LEHV6nWB2yk8pyo0adR*.7kCMdnj"
            )
        }
    }

    /// Takes them back when the post goes.
    func release(post: PostKey) async throws {
        try await db.run("DELETE FROM uploads WHERE author_id = \(post.author) AND number = \(post.number)")
    }
}
