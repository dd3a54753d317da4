import Foundation
import NIOCore
import Synchronization
import Tus

/// A minimal store in memory.
final class MemoryUploads: TusStore {
    struct Entry {
        let owner: String
        var upload: TusUpload
        var bytes: [UInt8] = []
    }

    private let uploads = Mutex<[String: Entry]>([:])
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
    }

    var all: [Entry] { uploads.withLock { Array($0.values) } }

    func create(_ creation: TusCreation, by owner: String) async throws -> TusUpload {
        let id = UUID().uuidString.lowercased()
        let upload = TusUpload(
            id: id,
            length: creation.length,
            offset: 0,
            metadata: creation.metadata,
            expires: now().addingTimeInterval(3_600)
        )
        uploads.withLock { $0[id] = Entry(owner: owner, upload: upload) }
        return upload
    }

    func find(_ id: String, of owner: String) async throws -> TusUpload {
        guard let kept = uploads.withLock({ $0[id] }), kept.owner == owner else { throw TusError.notFound }
        guard let expires = kept.upload.expires, expires > now() else { throw TusError.gone }
        return kept.upload
    }

    func append(_ body: TusBody, to upload: TusUpload, of owner: String) async throws -> TusUpload {
        var bytes: [UInt8] = []
        for try await piece in body { bytes += piece.readableBytesView }
        return try uploads.withLock { uploads in
            guard var kept = uploads[upload.id] else { throw TusError.gone }
            guard kept.upload.offset == upload.offset else { throw TusError.wrongOffset(is: kept.upload.offset) }
            kept.bytes += bytes
            kept.upload.offset += Int64(bytes.count)
            uploads[upload.id] = kept
            return kept.upload
        }
    }

    func remove(_ id: String, of owner: String) async throws {
        _ = try await find(id, of: owner)
        uploads.withLock { $0[id] = nil }
    }
}
