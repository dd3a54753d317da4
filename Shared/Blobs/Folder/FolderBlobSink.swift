import NIOCore

/// Gathers what is written and hands it to the disk a hundred kilobytes at a time.
final class FolderBlobSink: BlobSink {
    private let file: TemporaryFile
    private let limit: Int64
    private let blocking: BlockingWork
    private var gathered = ByteBuffer()
    private var size: Int64 = 0
    private var detector = MediaTypeDetector()
    private var isClosed = false

    init(file: TemporaryFile, limit: Int64, blocking: BlockingWork) {
        self.file = file
        self.limit = limit
        self.blocking = blocking
    }

    func write(_ bytes: ByteBuffer) async throws {
        // After the end the descriptor may be another file's.
        guard !isClosed else { throw BlobError.failed("write to a blob that has ended", code: 0) }
        guard Int64(bytes.readableBytes) <= limit - size else {
            isClosed = true
            throw BlobError.tooLarge(limit: limit)
        }
        size += Int64(bytes.readableBytes)
        detector.feed(bytes)
        let isLarge = bytes.readableBytes >= BlobLimits.piece
        // What came before goes before it.
        if isLarge || gathered.readableBytes + bytes.readableBytes > BlobLimits.gathered { try await flush() }
        if isLarge {
            try await append(bytes)
        } else {
            gathered.writeImmutableBuffer(bytes)
        }
    }

    func finish() async throws -> StoredBlob {
        guard !isClosed else { throw BlobError.tooLarge(limit: limit) }
        try await flush()
        isClosed = true
        return StoredBlob(size: size, mediaType: detector.mediaType)
    }

    /// Nothing is written any more.
    func close() {
        isClosed = true
    }

    private func flush() async throws {
        guard gathered.readableBytes > 0 else { return }
        try await append(gathered)
        gathered.clear()
    }

    private func append(_ bytes: ByteBuffer) async throws {
        do {
            try await blocking { [file] in try file.append(bytes) }
        } catch {
            isClosed = true
            throw error
        }
    }
}
