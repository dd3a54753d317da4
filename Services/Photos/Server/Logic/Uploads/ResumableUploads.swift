import Blobs
import Foundation
import Postgres
import ServiceHost
import Tus
import Wire

/// Resumable uploads by the tus protocol.
///
/// Each chunk is a separate blob, so any instance can continue an upload that another started.
struct ResumableUploads: TusStore {
    let uploads: Uploads

    func create(_ creation: TusCreation, by user: User.ID) async throws -> TusUpload {
        guard creation.length > 0 else { throw APIError.missing("file") }
        guard creation.metadata.text.utf8.count <= 4_096 else {
            throw TusError.invalid(header: "Upload-Metadata", "must have at most 4,096 bytes")
        }
        let owner = try await uploads.people.person(for: user).id
        try await uploads.requireRoom(for: creation.length, of: owner, on: uploads.database)
        let id = BlobKey.random().description
        let expires = try await UploadStore(db: uploads.database).begin(
            id,
            of: owner,
            length: creation.length,
            metadata: creation.metadata.text,
            lifetime: Uploads.lifetime,
            maximum: uploads.limits.pending
        )
        guard let expires else { throw Uploads.tooManyPending(uploads.limits.pending) }
        return TusUpload(id: id, length: creation.length, offset: 0, metadata: creation.metadata, expires: expires)
    }

    func find(_ id: String, of user: User.ID) async throws -> TusUpload {
        let owner = try await uploads.people.person(for: user).id
        guard let row = try await UploadStore(db: uploads.database).find(id, of: owner), let length = row.length,
            let received = row.received
        else { throw TusError.notFound }
        // An upload that is in use has no expiry.
        guard row.expiresAt.map({ $0 > Date() }) ?? true else { throw TusError.gone }
        return TusUpload(
            id: id,
            length: length,
            offset: received,
            metadata: TusMetadata(row.metadata) ?? TusMetadata(),
            expires: row.expiresAt
        )
    }

    func append(_ body: TusBody, to upload: TusUpload, of user: User.ID) async throws -> TusUpload {
        // A separate task: if the client disconnects, the bytes that arrived before are stored.
        try await Task {
            try await uploads.slots.use(user) {
                let owner = try await uploads.people.person(for: user).id
                var upload = upload
                upload.offset += try await storePiece(body, at: upload.offset, of: upload, by: owner)
                if upload.isWhole { try await finish(upload, of: owner) }
                return upload
            }
        }.value
    }

    func remove(_ id: String, of user: User.ID) async throws {
        let owner = try await uploads.people.person(for: user).id
        guard try await UploadStore(db: uploads.database).remove(id, of: owner) else { throw TusError.notFound }
    }

    /// Returns how many bytes were stored.
    private func storePiece(
        _ body: TusBody,
        at start: Int64,
        of upload: TusUpload,
        by owner: Person.ID
    ) async throws -> Int64 {
        let key = BlobKey.random()
        try await BlobRecordStore(db: uploads.database).insert([key], of: owner, blobLifetime: Uploads.blobLifetime)
        do {
            let stored = try await uploads.blobs.put(key, limit: upload.length - start) { sink in
                for try await bytes in body { try await sink.write(bytes) }
            }
            guard stored.size > 0 else {
                await uploads.discard([key], of: owner)
                return 0
            }
            try await record(key, size: stored.size, at: start, of: upload, by: owner)
            return stored.size
        } catch {
            await uploads.discard([key], of: owner)
            throw error
        }
    }

    private func record(
        _ key: BlobKey,
        size: Int64,
        at start: Int64,
        of upload: TusUpload,
        by owner: Person.ID
    ) async throws {
        let isRecorded = try await uploads.database.transaction { db in
            let received = try await UploadStore(db: db).advance(
                upload.id,
                of: owner,
                from: start,
                by: size,
                key: key,
                maximumPieces: uploads.limits.pieces
            )
            guard received != nil else { return false }
            guard try await BlobRecordStore(db: db).confirm(key, of: owner, size: size, mediaType: nil) else {
                throw APIError.unavailable("the file store")
            }
            try await uploads.requireRoom(for: 0, of: owner, on: db)
            return true
        }
        guard !isRecorded else { return }
        let store = UploadStore(db: uploads.database)
        guard let row = try await store.find(upload.id, of: owner), let received = row.received else {
            throw TusError.gone
        }
        guard received == start else { throw TusError.wrongOffset(is: received) }
        let message = "an upload can have at most \(uploads.limits.pieces) chunks"
        throw APIError(.tooLarge, "too_many_chunks", message)
    }

    private func finish(_ upload: TusUpload, of owner: Person.ID) async throws {
        guard let row = try await UploadStore(db: uploads.database).find(upload.id, of: owner) else {
            throw TusError.gone
        }
        if row.image == nil { _ = try await uploads.assemble(row, of: owner) }
    }
}
