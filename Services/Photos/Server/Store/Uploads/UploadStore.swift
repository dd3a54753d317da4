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

/// The table `uploads`: images that somebody has brought, and what has them.
struct UploadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Gives uploads to a post, in their order.
    ///
    /// - Throws: `notFound` for one that is not this person's, not whole or has expired, `conflict` for one that is taken.
    func claim(_ ids: [String], by person: Person.ID, for post: PostKey) async throws -> [ClaimedImage] {
        let claimed = try await db.all(
            """
            UPDATE uploads SET post_number = \(post.number), expires_at = NULL
            FROM files
            WHERE uploads.owner_id = \(person) AND uploads.upload_id = ANY (\(ids))
                AND uploads.expires_at > clock_timestamp()
                AND files.owner_id = uploads.owner_id AND files.file_id = uploads.file_id
            RETURNING uploads.upload_id, files.file_id, files.full_key, files.thumbnail_key, files.width, files.height,
                      files.blurhash
            """,
            as: { row in (try row.string("upload_id"), try StoredImage(row: row).image(of: person)) }
        )
        let images = Dictionary(claimed, uniquingKeysWith: { first, _ in first })
        guard images.count == ids.count else {
            throw try await claimError(of: ids.filter { images[$0] == nil }, of: person)
        }
        return ids.compactMap { images[$0] }
    }

    /// Takes them back when the post goes.
    func release(post: PostKey) async throws {
        try await db.run("DELETE FROM uploads WHERE owner_id = \(post.author) AND post_number = \(post.number)")
    }

    /// Makes an upload a person's profile picture, in place of the one before; answers with its path.
    ///
    /// - Throws: as `claim`.
    func claimPicture(_ id: String, of person: Person.ID) async throws -> String {
        let picture = try await db.first(
            """
            UPDATE uploads SET is_picture = true, expires_at = NULL
            FROM files
            WHERE uploads.owner_id = \(person) AND uploads.upload_id = \(id)
                AND uploads.expires_at > clock_timestamp()
                AND files.owner_id = uploads.owner_id AND files.file_id = uploads.file_id
            RETURNING files.file_id, files.full_key, files.thumbnail_key, files.width, files.height, files.blurhash
            """,
            as: { try StoredImage(row: $0).image(of: person).thumbnailURL }
        )
        guard let picture else { throw try await claimError(of: [id], of: person) }
        try await db.run("DELETE FROM uploads WHERE owner_id = \(person) AND is_picture AND upload_id <> \(id)")
        return picture
    }

    /// Takes a person's profile picture away.
    func deletePicture(of person: Person.ID) async throws {
        try await db.run("DELETE FROM uploads WHERE owner_id = \(person) AND is_picture")
    }

    /// Lets go of all that a person has, because he goes: nothing here refers to him any more, and his files are due.
    func deleteAll(of person: Person.ID) async throws {
        try await db.run("DELETE FROM uploads WHERE owner_id = \(person)")
    }

    private func claimError(of ids: [String], of person: Person.ID) async throws -> APIError {
        let isUsed = try await db.first(
            """
            SELECT FROM uploads WHERE owner_id = \(person) AND upload_id = ANY (\(ids)) AND expires_at IS NULL LIMIT 1
            """,
            as: { _ in true }
        )
        guard isUsed == nil else { return APIError(.conflict, "upload_already_used", "an upload serves one post") }
        return Self.notFound
    }

    static var notFound: APIError { APIError(.notFound, "upload_not_found", "there is no such upload") }
}
