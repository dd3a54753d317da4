import NIOCore

/// Gathers what is written and hands it to the disk a hundred kilobytes at a time.
final class FolderBlobSink: BlobSink {
    private let file: TemporaryFile
    private let blocking: BlockingWork
    private var gathered = ByteBuffer()
    private var tally: BlobTally

    init(file: TemporaryFile, limit: Int64, blocking: BlockingWork) {
        self.file = file
        self.blocking = blocking
        tally = BlobTally(limit: limit)
    }

    func write(_ bytes: ByteBuffer) async throws {
        // After the end the descriptor may be another file's.
        try tally.take(bytes)
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
        let stored = try tally.end()
        try await flush()
        return stored
    }

    /// Nothing is written any more.
    func close() {
        tally.close()
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
            tally.close()
            throw error
        }
    }
}
