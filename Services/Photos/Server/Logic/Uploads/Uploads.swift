import Blobs
import Foundation
import Images
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of uploads: people bring images, each of which one post or one profile may take within a day.
///
/// Every blob is noted in a row before its first byte is put, and kept in the transaction that says whose it is. Whatever
/// breaks off in between leaves a blob that is due, and ``UploadCleanup`` removes it.
struct Uploads: Sendable {
    /// How long an upload waits for something to take it, in seconds.
    static let lifetime: TimeInterval = 86_400
    /// How long a blob may be on its way, in seconds.
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

    /// Takes an image, which `receive` writes.
    func create(from user: User.ID, _ receive: (any BlobSink) async throws -> Void) async throws -> Upload {
        try await slots.use(user) { try await create(for: people.person(for: user).id, receive) }
    }

    /// Takes an image for somebody who is known, as work of our own does that has a bound of its own.
    func create(for owner: Person.ID, _ receive: (any BlobSink) async throws -> Void) async throws -> Upload {
        guard try await UploadStore(db: database.reads).pending(of: owner) < limits.pending else {
            throw Self.tooManyPending(limits.pending)
        }
        try await requireRoom(for: 1, of: owner, on: database)
        let id = BlobKey.random().description
        return upload(id, try await keep(as: id, of: owner, receive), of: owner)
    }

    /// An upload of one's own.
    ///
    /// - Throws: `conflict` where something of it is still to come.
    func show(_ id: String, to user: User.ID) async throws -> Upload {
        let owner = try await people.person(for: user).id
        guard let row = try await UploadStore(db: database.reads).find(id, of: owner),
            row.expiresAt.map({ $0 > Date() }) ?? true
        else { throw UploadStore<PostgresPool>.notFound }
        if let image = row.image { return upload(id, image, of: owner) }
        guard row.received == row.length else {
            throw APIError(.conflict, "upload_incomplete", "the upload is not whole yet")
        }
        // What came whole, when there was no place or no store for it, is looked at again.
        return try await slots.use(user) { upload(id, try await assemble(row, of: owner), of: owner) }
    }

    /// Makes an image of the pieces of an upload that has them all.
    func assemble(_ row: UploadRow, of owner: Person.ID) async throws -> StoredImage {
        let pieces = try await UploadStore(db: database).pieces(of: row.id, of: owner)
        do {
            return try await keep(as: row.id, of: owner) { sink in
                for key in pieces {
                    guard let piece = try await blobs.open(key) else {
                        throw BlobError.failed("find a piece of an upload", code: 0)
                    }
                    try await piece.read(0..<piece.size) { try await sink.write($0) }
                }
            }
        } catch let error as APIError where error.kind.status < 500 && error.kind != .rateLimited {
            // It will never be an image.
            _ = try await UploadStore(db: database).remove(row.id, of: owner)
            throw error
        }
    }

    /// - Throws: 507 where a person would have more than the quota. In a transaction that counted bytes this is exact: the
    ///   person's counter is locked.
    func requireRoom(for bytes: Int64, of owner: Person.ID, on db: some PostgresExecutor) async throws {
        try limits.quota.require(await BlobRecordStore(db: db).storedBytes(of: owner), room: bytes)
    }

    static func tooManyPending(_ limit: Int) -> APIError {
        APIError(.rateLimited, "too_many_uploads", "you have \(limit) uploads that are in no post", retryAfter: 60)
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

    private func keep(
        as id: String,
        of owner: Person.ID,
        _ receive: (any BlobSink) async throws -> Void
    ) async throws -> StoredImage {
        try await scratch.withTemporaryFolder { folder in
            let received = try await self.receive(in: folder, receive)
            if let known = try await database.transaction({ try await known(received, as: id, of: owner, in: $0) }) {
                return known
            }
            let prepared = try await preparation.prepare(received, in: folder, of: owner)
            return try await keep(prepared, of: received, as: id, by: owner)
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

    /// The image that the same bytes of the same person were made into before.
    private func known(
        _ image: ReceivedImage,
        as id: String,
        of owner: Person.ID,
        in db: PostgresTransaction
    ) async throws -> StoredImage? {
        guard let known = try await FileStore(db: db).lock(withDigest: image.sha256, of: owner) else { return nil }
        return try await finish(id, of: owner, with: known, in: db)
    }

    private func keep(
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
            let kept = try await database.transaction { db in
                let file = NewImageFile(
                    sha256: image.sha256,
                    full: full,
                    thumbnail: thumbnail,
                    width: prepared.full.width,
                    height: prepared.full.height,
                    blurhash: prepared.blurhash
                )
                guard let new = try await FileStore(db: db).insert(file, of: owner) else {
                    // Sent twice at once; the other was quicker.
                    return try await known(image, as: id, of: owner, in: db)
                }
                let records = BlobRecordStore(db: db)
                guard
                    try await records.keep(full, of: owner, size: stored.full.size, mediaType: stored.full.mediaType),
                    try await records.keep(
                        thumbnail,
                        of: owner,
                        size: stored.small.size,
                        mediaType: stored.small.mediaType
                    )
                else { throw APIError.unavailable("the store of files") }
                let finished = try await finish(id, of: owner, with: new, in: db)
                // After the pieces of the upload, which it takes the place of, no longer count.
                try await requireRoom(for: 0, of: owner, on: db)
                return finished
            }
            guard let kept else { throw APIError.unavailable("the upload") }
            if kept.full != full.description { await discard([full, thumbnail], of: owner) }
            return kept
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
        // Another request has finished it meanwhile, or its time is over.
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

    /// Removes blobs unless something has them; what fails is left to the sweep.
    func discard(_ keys: [BlobKey], of owner: Person.ID) async {
        // A task of its own: that the sender has gone is no reason to leave anything.
        await Task {
            do {
                let records = BlobRecordStore(db: database)
                let due = try await records.discard(keys, of: owner)
                for key in due { try await blobs.delete(key) }
                try await records.delete(due, of: owner)
            } catch {
                logger.warning("blobs are left to the sweep", metadata: ["error": "\(error)"])
            }
        }.value
    }
}

/// How much may be uploaded.
struct UploadLimits: Sendable {
    /// Of an image as it is sent.
    var bytes: Int64
    /// Uploads of one person that nothing has.
    var pending: Int
    var quota = StorageQuota(bytes: 0)
    /// Pieces of an upload.
    var pieces = 1_000
}
