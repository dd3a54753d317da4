import Crypto
import Foundation
import NIOCore

/// A sink that spools each part of a blob to a file and then uploads it.
final class S3BlobSink: BlobSink {
    /// The maximum number of parts of an S3 upload.
    private static let maximumParts: Int64 = 10_000

    private let key: BlobKey
    private let partSize: Int64
    private let connection: S3Connection
    private let blocking: BlockingWork
    private let file: SpoolFile

    private var buffered = ByteBuffer()
    private var hash = SHA256()
    private var inspector: BlobInspector
    /// The length of the current part in bytes, in the file and in `buffered`.
    private var length: Int64 = 0
    private var upload: String?
    private var tags: [String] = []
    /// Whether the object may exist although S3 has not confirmed it.
    private var mayExist = false

    init(key: BlobKey, limit: Int64, connection: S3Connection, file: SpoolFile, blocking: BlockingWork) {
        self.key = key
        self.connection = connection
        self.file = file
        self.blocking = blocking
        inspector = BlobInspector(limit: limit)
        partSize = max(Int64(connection.configuration.partSize), limit / Self.maximumParts + 1)
    }

    func write(_ bytes: ByteBuffer) async throws {
        try inspector.inspect(bytes)
        do {
            try await spool(bytes)
        } catch {
            inspector.close()
            throw error
        }
    }

    func finish() async throws -> StoredBlob {
        let stored = try inspector.end()
        if let upload {
            try await send()
            mayExist = true
            try await connection.complete(key, upload: upload, tags: tags, size: stored.size)
        } else {
            try await flush()
            mayExist = true
            try await connection.put(key, part(), mediaType: stored.mediaType)
        }
        return stored
    }

    /// Removes what was uploaded, if the store answers; ``BlobStore/delete(_:)`` removes the rest later.
    func abandon(because error: any Error) async {
        inspector.close()
        // A store that is already unavailable receives one attempt without a retry.
        let isUnavailable = if case .unavailable = error as? BlobError { true } else { false }
        let (key, connection, upload, mayExist) = (key, connection, upload, mayExist)
        // A separate task, since the caller's cancellation must not prevent the cleanup. Errors are ignored: the
        // application has recorded the key and deletes it later.
        await Task {
            let attempts = isUnavailable ? 1 : nil
            if let upload { try? await connection.abort(key, upload: upload, attempts: attempts) }
            if mayExist { try? await connection.delete(key, attempts: attempts) }
        }.value
    }

    private func spool(_ bytes: ByteBuffer) async throws {
        var rest = bytes
        while rest.readableBytes > 0 {
            // A full part is sent only when more bytes follow, because only the last part may be small.
            if length == partSize { try await send() }
            guard let piece = rest.readSlice(length: Int(min(Int64(rest.readableBytes), partSize - length))) else {
                return
            }
            length += Int64(piece.readableBytes)
            piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            if buffered.readableBytes + piece.readableBytes > BlobLimits.buffered { try await flush() }
            buffered.writeImmutableBuffer(piece)
        }
    }

    /// Uploads the current part; begins the multipart upload if needed.
    private func send() async throws {
        try await flush()
        let upload = try await uploadID()
        tags.append(try await connection.put(part(), number: tags.count + 1, of: key, upload: upload))
        try await blocking { [file] in try file.clear() }
        length = 0
        hash = SHA256()
    }

    private func uploadID() async throws -> String {
        if let upload { return upload }
        // Content that begins as text may turn out to be something else.
        let type = inspector.mediaType == MediaTypeDetector.text ? MediaTypeDetector.unknown : inspector.mediaType
        let id = try await connection.begin(key, mediaType: type)
        upload = id
        return id
    }

    private func flush() async throws {
        guard buffered.readableBytes > 0 else { return }
        let bytes = buffered
        try await blocking { [file] in try file.append(bytes) }
        buffered.clear()
    }

    private func part() -> SpooledPart {
        SpooledPart(
            bytes: SpooledBytes(file: file, size: length, blocking: blocking),
            hash: RequestSigner.hexadecimal(hash.finalize())
        )
    }
}
