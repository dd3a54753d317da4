import Postgres
import Wire

/// The data of an upload that a post copies.
struct ClaimedImage: Hashable, Sendable {
    /// A path below `/media/`, as is `thumbnailURL`.
    let url: String
    let thumbnailURL: String
    /// The size of the image at `url`, in pixels.
    let width: Int
    let height: Int
    let blurhash: String
}

/// The table `uploads` of uploaded images, and the posts and profiles that use them.
struct UploadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Assigns uploads to a post, and returns their images in the order of the ids.
    ///
    /// - Throws: `notFound` for an upload that is another user's, incomplete or expired, or `conflict` for an upload
    ///   that is already used.
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

    func release(post: PostKey) async throws {
        try await db.run("DELETE FROM uploads WHERE owner_id = \(post.author) AND post_number = \(post.number)")
    }

    /// Makes an upload the user's avatar, in place of the previous one; returns its path.
    ///
    /// - Throws: The errors of ``claim(_:by:for:)``.
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

    func deletePicture(of person: Person.ID) async throws {
        try await db.run("DELETE FROM uploads WHERE owner_id = \(person) AND is_picture")
    }

    /// Deletes all uploads of a deleted user; the files become due.
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
        guard isUsed == nil else {
            return APIError(.conflict, "upload_already_used", "an upload can be used only once")
        }
        return Self.notFound
    }

    static var notFound: APIError { APIError(.notFound, "upload_not_found", "there is no such upload") }
}
