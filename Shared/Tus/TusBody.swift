import Hummingbird
public import NIOCore

/// The bytes of a piece as they arrive; one task may iterate over them once.
///
/// If the connection breaks, the sequence ends without an error, so that the received bytes are kept and the client
/// sends the rest later. With a checksum it throws instead, because only the complete piece can match.
///
/// - Throws: ``TusError/tooLarge(limit:)`` if the piece exceeds the upload's length, ``TusError/checksumMismatch``.
public struct TusBody: AsyncSequence, Sendable {
    /// The type of the sequence's elements.
    public typealias Element = ByteBuffer

    let bytes: RequestBody
    /// The value of `Content-Length`.
    let announced: Int64?
    /// The number of bytes that the upload lacks.
    let remaining: Int64
    /// The length of the whole upload, for the error.
    let limit: Int64
    let checksum: TusChecksum?

    /// Returns the iterator; call it only once.
    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    /// An iterator over the bytes of a piece.
    public struct Iterator: AsyncIteratorProtocol {
        private var bytes: RequestBody.AsyncIterator
        private var checksum: TusChecksum?
        private let body: TusBody
        private var received: Int64 = 0
        private var hasEnded = false

        fileprivate init(body: TusBody) {
            self.body = body
            bytes = body.bytes.makeAsyncIterator()
            checksum = body.checksum
        }

        /// Returns the next bytes; nil at the end of the piece or of the connection.
        public mutating func next() async throws -> ByteBuffer? {
            guard !hasEnded, let next = await received() else { return try end() }
            received += Int64(next.readableBytes)
            guard received <= body.remaining else { throw TusError.tooLarge(limit: body.limit) }
            checksum?.feed(next)
            return next
        }

        /// Returns nil at the end, whether the body is complete or not.
        private mutating func received() async -> ByteBuffer? {
            // A disconnected client cannot receive an error; it continues the upload later.
            do { return try await bytes.next() } catch { return nil }
        }

        private mutating func end() throws -> ByteBuffer? {
            defer { hasEnded = true }
            guard !hasEnded, let checksum else { return nil }
            guard body.announced.map({ $0 == received }) ?? true, checksum.matches else {
                throw TusError.checksumMismatch
            }
            return nil
        }
    }
}
