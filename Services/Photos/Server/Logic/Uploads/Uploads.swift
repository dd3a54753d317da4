import Blobs
import Foundation
import Images
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of uploads: users upload images, and each image can be used by one post or profile within a day.
///
/// Every blob is recorded in a row before its first byte is stored, and confirmed in the transaction that assigns it to
/// an upload. A failure in between leaves a blob that is due, which ``UploadCleanup`` deletes.
struct Uploads: Sendable {
    static let lifetime: TimeInterval = 86_400
    /// How long storing a blob may take, in seconds.
    static let blobLifetime: TimeInterval = 86_400

    let database: PostgresPool
    let people: People
    let blobs: any BlobStore
    let scratch: ScratchFolder
    let preparation: ImagePreparation
    let slots: UploadConcurrencyLimit
    let links: MediaLinks
    let limits: UploadLimits
    let logger: Logger

    func create(from user: User.ID, _ receive: (any BlobSink) async throws -> Void) async throws -> Upload {
        try await slots.use(user) { try await create(for: people.person(for: user).id, receive) }
    }

    /// Stores an image for a known user, as internal work does that has its own concurrency limit.
    func create(for owner: Person.ID, _ receive: (any BlobSink) async throws -> Void) async throws -> Upload {
        guard try await UploadStore(db: database.reads).pending(of: owner) < limits.pending else {
            throw Self.tooManyPending(limits.pending)
        }
        try await requireRoom(for: 1, of: owner, on: database)
        let id = BlobKey.random().description
        return upload(id, try await store(as: id, of: owner, receive), of: owner)
    }

    /// Returns an upload of the user.
    ///
    /// - Throws: `conflict` if the upload is not complete.
    func show(_ id: String, to user: User.ID) async throws -> Upload {
        let owner = try await people.person(for: user).id
        guard let row = try await UploadStore(db: database.reads).find(id, of: owner),
            row.expiresAt.map({ $0 > Date() }) ?? true
        else { throw UploadStore<PostgresPool>.notFound }
        if let image = row.image { return upload(id, image, of: owner) }
        guard row.received == row.length else {
            throw APIError(.conflict, "upload_incomplete", "the upload is not complete")
        }
        // The chunks are complete, but an earlier attempt found no free worker or no storage.
        return try await slots.use(user) { upload(id, try await assemble(row, of: owner), of: owner) }
    }

    func assemble(_ row: UploadRow, of owner: Person.ID) async throws -> StoredImage {
        let pieces = try await UploadStore(db: database).pieces(of: row.id, of: owner)
        do {
            return try await store(as: row.id, of: owner) { sink in
                for key in pieces {
                    guard let piece = try await blobs.open(key) else {
                        throw BlobError.failed("find a chunk of an upload", code: 0)
                    }
                    try await piece.read(0..<piece.size) { try await sink.write($0) }
                }
            }
        } catch let error as APIError where error.kind.status < 500 && error.kind != .rateLimited {
            // The file will never be an accepted image.
            _ = try await UploadStore(db: database).remove(row.id, of: owner)
            throw error
        }
    }

    /// Checks a user's storage quota.
    ///
    /// The check is exact in a transaction that counted bytes, because the user's counter is locked.
    ///
    /// - Throws: A 507 error if the user would exceed the quota.
    func requireRoom(for bytes: Int64, of owner: Person.ID, on db: some PostgresExecutor) async throws {
        try limits.quota.require(await BlobRecordStore(db: db).storedBytes(of: owner), room: bytes)
    }

    static func tooManyPending(_ limit: Int) -> APIError {
        let message = "the user has \(limit) unused uploads; use them in posts or wait until they expire"
        return APIError(.rateLimited, "too_many_uploads", message, retryAfter: 60)
    }

    private func upload(_ id: String, _ image: StoredImage, of owner: Person.ID) -> Upload {
        let image = image.image(of: owner)
        return Upload(
            uploadId: id,
            url: links.url(image.url),
            thumbnailUrl: links.url(image.thumbnailURL),
            width: image.width,
            height: image.height,
            blurhash: image.blurhash
        )
    }

    private func store(
        as id: String,
        of owner: Person.ID,
        _ receive: (any BlobSink) async throws -> Void
    ) async throws -> StoredImage {
        try await scratch.withTemporaryFolder { folder in
            let received = try await self.receive(in: folder, receive)
            let existing = try await database.transaction { db in
                try await existingImage(received, as: id, of: owner, in: db)
            }
            if let existing { return existing }
            let prepared = try await preparation.prepare(received, in: folder, of: owner)
            return try await store(prepared, of: received, as: id, by: owner)
        }
    }

    private func receive(
        in folder: String,
        _ receive: (any BlobSink) async throws -> Void
    ) async throws -> ReceivedImage {
        let path = "\(folder)/original"
        var sha256: [UInt8] = []
        let size = try await scratch.write(path, limit: limits.bytes) { sink in
            let image = ImageSink(sink)
            try await receive(image)
            sha256 = image.sha256
        }
        guard size > 0 else { throw APIError.missing("file") }
        return ReceivedImage(path: path, size: size, sha256: sha256)
    }

    /// Returns the image that was made of the same bytes of the same user before.
    private func existingImage(
        _ image: ReceivedImage,
        as id: String,
        of owner: Person.ID,
        in db: PostgresTransaction
    ) async throws -> StoredImage? {
        guard let file = try await FileStore(db: db).lock(withDigest: image.sha256, of: owner) else { return nil }
        return try await finish(id, of: owner, with: file, in: db)
    }

    private func store(
        _ prepared: PreparedImage,
        of image: ReceivedImage,
        as id: String,
        by owner: Person.ID
    ) async throws -> StoredImage {
        let (full, thumbnail) = (BlobKey.random(), BlobKey.random())
        try await BlobRecordStore(db: database).insert([full, thumbnail], of: owner, blobLifetime: Self.blobLifetime)
        do {
            let stored = (
                full: try await put(prepared.full, as: full), small: try await put(prepared.thumbnail, as: thumbnail)
            )
            let result = try await database.transaction { db in
                let file = NewImageFile(
                    sha256: image.sha256,
                    full: full,
                    thumbnail: thumbnail,
                    width: prepared.full.width,
                    height: prepared.full.height,
                    blurhash: prepared.blurhash
                )
                guard let new = try await FileStore(db: db).insert(file, of: owner) else {
                    // The same bytes were uploaded concurrently, and the other upload was faster.
                    return try await existingImage(image, as: id, of: owner, in: db)
                }
                let records = BlobRecordStore(db: db)
                guard
                    try await records.confirm(
                        full,
                        of: owner,
                        size: stored.full.size,
                        mediaType: stored.full.mediaType
                    ),
                    try await records.confirm(
                        thumbnail,
                        of: owner,
                        size: stored.small.size,
                        mediaType: stored.small.mediaType
                    )
                else { throw APIError.unavailable("the file store") }
                let finished = try await finish(id, of: owner, with: new, in: db)
                // The check comes last, when the chunks of this upload no longer count.
                try await requireRoom(for: 0, of: owner, on: db)
                return finished
            }
            guard let result else { throw APIError.unavailable("the upload") }
            if result.full != full.description { await discard([full, thumbnail], of: owner) }
            return result
        } catch {
            await discard([full, thumbnail], of: owner)
            throw error
        }
    }

    private func finish(
        _ id: String,
        of owner: Person.ID,
        with image: StoredImage,
        in db: PostgresTransaction
    ) async throws -> StoredImage {
        let store = UploadStore(db: db)
        if try await store.finish(id, of: owner, with: image, lifetime: Self.lifetime) != nil { return image }
        // Another request finished the upload, or the upload has expired.
        guard let finished = try await store.find(id, of: owner)?.image else {
            throw UploadStore<PostgresPool>.notFound
        }
        return finished
    }

    private func put(_ picture: PreparedImage.Picture, as key: BlobKey) async throws -> StoredBlob {
        try await blobs.put(key, limit: .max) { sink in
            try await scratch.read(picture.path) { try await sink.write($0) }
        }
    }

    /// Deletes blobs that are not in use; if that fails, ``UploadCleanup`` deletes them later.
    func discard(_ keys: [BlobKey], of owner: Person.ID) async {
        // A separate task: the blobs are deleted even if the client disconnects.
        await Task {
            do {
                let records = BlobRecordStore(db: database)
                let due = try await records.discard(keys, of: owner)
                for key in due { try await blobs.delete(key) }
                try await records.delete(due, of: owner)
            } catch {
                logger.warning("unused blobs could not be deleted yet", metadata: ["error": "\(error)"])
            }
        }.value
    }
}

struct UploadLimits: Sendable {
    /// The maximum size of an image file, in bytes.
    var bytes: Int64
    /// The maximum number of unused uploads of one user.
    var pending: Int
    var quota = StorageQuota(bytes: 0)
    var pieces = 1_000
}
