import NIOCore

/// What the server says on one connection, for one reader.
///
/// It ends by throwing the ``SocketIOClientError/closed(_:)`` that says why the connection is over. While more than a
/// thousand wait for the reader, nothing is read from the server, acknowledgements neither.
public struct SocketIOEvents: AsyncSequence, Sendable {
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        SocketIOEvent, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Reading
    >
    typealias Source = Producer.Source

    /// Tells the connection whether somebody reads.
    struct Reading: NIOAsyncSequenceProducerDelegate {
        let resume: @Sendable () -> Void
        let end: @Sendable () -> Void

        func produceMore() { resume() }
        func didTerminate() { end() }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let iterator: Producer.AsyncIterator

        public mutating func next() async throws -> SocketIOEvent? {
            try await iterator.next()
        }
    }

    private let producer: Producer

    static func make(_ reading: Reading) -> (events: SocketIOEvents, source: Source) {
        let made = Producer.makeSequence(
            backPressureStrategy: .init(lowWatermark: 128, highWatermark: 1_024),
            finishOnDeinit: true,
            delegate: reading
        )
        return (SocketIOEvents(producer: made.sequence), made.source)
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(iterator: producer.makeAsyncIterator())
    }
}
