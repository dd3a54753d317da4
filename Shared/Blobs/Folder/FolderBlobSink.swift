import NIOCore

/// A sink that collects up to 128 KiB before each write to disk.
final class FolderBlobSink: BlobSink {
    private let file: TemporaryFile
    private let blocking: BlockingWork
    private var buffered = ByteBuffer()
    private var inspector: BlobInspector

    init(file: TemporaryFile, limit: Int64, blocking: BlockingWork) {
        self.file = file
        self.blocking = blocking
        inspector = BlobInspector(limit: limit)
    }

    func write(_ bytes: ByteBuffer) async throws {
        // After the end, the descriptor's number may belong to another file.
        try inspector.inspect(bytes)
        let isLarge = bytes.readableBytes >= BlobLimits.piece
        // Earlier bytes are written first.
        if isLarge || buffered.readableBytes + bytes.readableBytes > BlobLimits.buffered { try await flush() }
        if isLarge {
            try await append(bytes)
        } else {
            buffered.writeImmutableBuffer(bytes)
        }
    }

    func finish() async throws -> StoredBlob {
        let stored = try inspector.end()
        try await flush()
        return stored
    }

    /// Rejects all further writes.
    func close() {
        inspector.close()
    }

    private func flush() async throws {
        guard buffered.readableBytes > 0 else { return }
        try await append(buffered)
        buffered.clear()
    }

    private func append(_ bytes: ByteBuffer) async throws {
        do {
            try await blocking { [file] in try file.append(bytes) }
        } catch {
            inspector.close()
            throw error
        }
    }
}
