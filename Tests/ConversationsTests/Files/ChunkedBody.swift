import NIOCore

/// A body of the same buffer `count` times, produced on demand, followed by the end or an error.
struct ChunkedBody: AsyncSequence, Sendable {
    struct Disconnected: Error {}

    let count: Int
    let piece: ByteBuffer
    let thenFails: Bool
    let given = SharedValue(0)
    let willGive: @Sendable (Int) async throws -> Void

    init(
        count: Int,
        of piece: ByteBuffer,
        thenFails: Bool = false,
        _ willGive: @escaping @Sendable (_ given: Int) async throws -> Void = { _ in }
    ) {
        self.count = count
        self.piece = piece
        self.thenFails = thenFails
        self.willGive = willGive
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pieces: ChunkedBody

        func next() async throws -> ByteBuffer? {
            guard pieces.given.value < pieces.count else {
                if pieces.thenFails { throw Disconnected() }
                return nil
            }
            try await pieces.willGive(pieces.given.value)
            pieces.given.change { $0 += 1 }
            return pieces.piece
        }
    }
}
