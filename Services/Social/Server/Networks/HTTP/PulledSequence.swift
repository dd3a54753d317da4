/// A sequence whose next element is produced when the reader requests it.
///
/// It buffers no elements, so a slow reader slows down the producer; an `AsyncStream` would buffer without bound.
struct PulledSequence<Element: Sendable>: AsyncSequence, Sendable {
    typealias Pull = () async throws -> Element?

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let pull: Pull

        mutating func next() async throws -> Element? { try await pull() }
    }

    private let start: @Sendable () -> Pull

    /// - Parameter start: Called for each iteration; returns the function that produces the next element, or nil at the
    ///   end.
    init(_ start: @escaping @Sendable () -> Pull) { self.start = start }

    init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Element {
        self.init {
            var iterator = base.makeAsyncIterator()
            return { try await iterator.next() }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pull: start()) }
}
