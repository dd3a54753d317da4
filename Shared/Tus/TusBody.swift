import Hummingbird
public import NIOCore

/// The bytes of a piece, as they come in: once, by one task.
///
/// It ends where the connection broke off as it ends with its last byte, so that what came is kept and the rest is asked
/// for again; but with a checksum, which nothing less than the whole can meet, it throws.
///
/// - Throws: ``TusError/tooLarge(limit:)`` when there is more than the upload lacks, ``TusError/checksumMismatch``.
public struct TusBody: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    let bytes: RequestBody
    /// What `Content-Length` promises.
    let announced: Int64?
    /// How many bytes the upload lacks.
    let room: Int64
    /// Of the whole upload, for the error.
    let limit: Int64
    let checksum: TusChecksum?

    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

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

        public mutating func next() async throws -> ByteBuffer? {
            guard !hasEnded, let next = await received() else { return try end() }
            received += Int64(next.readableBytes)
            guard received <= body.room else { throw TusError.tooLarge(limit: body.limit) }
            checksum?.feed(next)
            return next
        }

        /// Nil at the end, whether it was meant to be there or not.
        private mutating func received() async -> ByteBuffer? {
            // Silence: who has gone away cannot be told, and comes back for the rest.
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
