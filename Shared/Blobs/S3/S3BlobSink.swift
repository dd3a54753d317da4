import Crypto
import Foundation
import NIOCore

/// Gathers what is written in a file, and sends it a part at a time.
final class S3BlobSink: BlobSink {
    /// What S3 takes in one upload.
    private static let maximumParts: Int64 = 10_000

    private let key: BlobKey
    private let partSize: Int64
    private let connection: S3Connection
    private let blocking: BlockingWork
    private let file: SpoolFile

    private var buffered = ByteBuffer()
    private var hash = SHA256()
    private var tally: BlobInspector
    /// Of the part that lies in the file and in `buffered`.
    private var length: Int64 = 0
    private var upload: String?
    private var tags: [String] = []
    /// Whether the blob may be there, though nobody has said so.
    private var mayBeThere = false

    init(key: BlobKey, limit: Int64, connection: S3Connection, file: SpoolFile, blocking: BlockingWork) {
        self.key = key
        self.connection = connection
        self.file = file
        self.blocking = blocking
        tally = BlobInspector(limit: limit)
        partSize = max(Int64(connection.configuration.partSize), limit / Self.maximumParts + 1)
    }

    func write(_ bytes: ByteBuffer) async throws {
        try tally.take(bytes)
        do {
            try await take(bytes)
        } catch {
            tally.close()
            throw error
        }
    }

    func finish() async throws -> StoredBlob {
        let stored = try tally.end()
        if let upload {
            try await send()
            mayBeThere = true
            try await connection.complete(key, upload: upload, tags: tags, size: stored.size)
        } else {
            try await flush()
            mayBeThere = true
            try await connection.put(key, part(), mediaType: stored.mediaType)
        }
        return stored
    }

    /// Leaves nothing behind, as far as the store answers; what is left, ``BlobStore/delete(_:)`` removes later.
    func abandon(because error: any Error) async {
        tally.close()
        // Who is away already is asked once more, and not waited for.
        let isAway = if case .unavailable = error as? BlobError { true } else { false }
        let (key, connection, upload, mayBeThere) = (key, connection, upload, mayBeThere)
        // A task of its own: that the sender has gone is no reason to leave anything. Silence: the key was noted.
        await Task {
            let attempts = isAway ? 1 : nil
            if let upload { try? await connection.abort(key, upload: upload, attempts: attempts) }
            if mayBeThere { try? await connection.delete(key, attempts: attempts) }
        }.value
    }

    private func take(_ bytes: ByteBuffer) async throws {
        var rest = bytes
        while rest.readableBytes > 0 {
            // Only now, when more is known to come: the last part is the one that may be small.
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

    /// Sends the part that is gathered, in the upload that it begins if need be.
    private func send() async throws {
        try await flush()
        let upload = try await begun()
        tags.append(try await connection.put(part(), number: tags.count + 1, of: key, upload: upload))
        try await blocking { [file] in try file.clear() }
        length = 0
        hash = SHA256()
    }

    private func begun() async throws -> String {
        if let upload { return upload }
        // What begins as text may end as something else.
        let type = tally.mediaType == MediaTypeDetector.text ? MediaTypeDetector.unknown : tally.mediaType
        let begun = try await connection.begin(key, mediaType: type)
        upload = begun
        return begun
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
