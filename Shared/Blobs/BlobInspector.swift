import NIOCore

/// The common checks of all sinks: the size, the size limit, the media type, and whether the blob has ended.
struct BlobInspector {
    private let limit: Int64
    private var size: Int64 = 0
    private var detector = MediaTypeDetector()
    private var isClosed = false

    init(limit: Int64) { self.limit = limit }

    /// The media type of the bytes so far.
    var mediaType: String { detector.mediaType }

    /// Counts and inspects the next bytes.
    ///
    /// - Throws: ``BlobError`` if the limit is exceeded or the blob has ended.
    mutating func inspect(_ bytes: ByteBuffer) throws {
        guard !isClosed else { throw BlobError.failed("write to a closed blob", code: 0) }
        guard Int64(bytes.readableBytes) <= limit - size else {
            isClosed = true
            throw BlobError.tooLarge(limit: limit)
        }
        size += Int64(bytes.readableBytes)
        detector.feed(bytes)
    }

    /// Rejects all further bytes, after an error or a cancellation.
    mutating func close() { isClosed = true }

    /// Completes the blob.
    ///
    /// - Throws: ``BlobError/tooLarge(limit:)`` if a write was rejected before.
    mutating func end() throws -> StoredBlob {
        guard !isClosed else { throw BlobError.tooLarge(limit: limit) }
        isClosed = true
        return StoredBlob(size: size, mediaType: detector.mediaType)
    }
}
