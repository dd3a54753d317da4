/// A sequence whose next element is made when it is asked for.
///
/// It holds no elements, so a slow reader holds back whoever makes them; an `AsyncStream` would store them without bound.
struct PulledSequence<Element: Sendable>: AsyncSequence, Sendable {
    typealias Pull = () async throws -> Element?

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let pull: Pull

        mutating func next() async throws -> Element? { try await pull() }
    }

    private let start: @Sendable () -> Pull

    /// - Parameter start: called for each iteration; returns what makes the next element, or nil at the end.
    init(_ start: @escaping @Sendable () -> Pull) { self.start = start }

    init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Element {
        self.init {
            var iterator = base.makeAsyncIterator()
            return { try await iterator.next() }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pull: start()) }
}
