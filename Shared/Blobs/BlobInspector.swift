import NIOCore

/// What every sink keeps of the blob that it takes in, wherever the bytes go: how many there were, of how many there may be,
/// what they are, and whether that was all.
struct BlobInspector {
    private let limit: Int64
    private var size: Int64 = 0
    private var detector = MediaTypeDetector()
    private var isClosed = false

    init(limit: Int64) { self.limit = limit }

    /// What it is, as far as it has come.
    var mediaType: String { detector.mediaType }

    /// Counts what is written next.
    ///
    /// - Throws: a ``BlobError`` where that is too much, or there was an end.
    mutating func take(_ bytes: ByteBuffer) throws {
        guard !isClosed else { throw BlobError.failed("write to a blob that has ended", code: 0) }
        guard Int64(bytes.readableBytes) <= limit - size else {
            isClosed = true
            throw BlobError.tooLarge(limit: limit)
        }
        size += Int64(bytes.readableBytes)
        detector.feed(bytes)
    }

    /// Nothing is written any more: something has failed, or given up.
    mutating func close() { isClosed = true }

    /// All was written.
    ///
    /// - Throws: ``BlobError/tooLarge(limit:)`` where more was to be.
    mutating func end() throws -> StoredBlob {
        guard !isClosed else { throw BlobError.tooLarge(limit: limit) }
        isClosed = true
        return StoredBlob(size: size, mediaType: detector.mediaType)
    }
}
