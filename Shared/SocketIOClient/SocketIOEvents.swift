import NIOCore

/// The events of one connection; only one task may iterate over them.
///
/// The sequence ends by throwing ``SocketIOClientError/closed(_:)`` with the reason. While more than 1,024 events are
/// unread, the client reads nothing from the server, including acknowledgements.
public struct SocketIOEvents: AsyncSequence, Sendable {
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        SocketIOEvent, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Reading
    >
    typealias Source = Producer.Source

    /// Notifies the connection of demand and of the end of iteration.
    struct Reading: NIOAsyncSequenceProducerDelegate {
        let resume: @Sendable () -> Void
        let end: @Sendable () -> Void

        func produceMore() { resume() }
        func didTerminate() { end() }
    }

    /// An iterator over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let iterator: Producer.AsyncIterator

        /// Returns the next event.
        ///
        /// - Throws: ``SocketIOClientError/closed(_:)`` when the connection has ended.
        public mutating func next() async throws -> SocketIOEvent? {
            try await iterator.next()
        }
    }

    private let producer: Producer

    static func make(_ reading: Reading) -> (events: SocketIOEvents, source: Source) {
        let created = Producer.makeSequence(
            backPressureStrategy: .init(lowWatermark: 128, highWatermark: 1_024),
            finishOnDeinit: true,
            delegate: reading
        )
        return (SocketIOEvents(producer: created.sequence), created.source)
    }

    /// Returns an iterator over the events.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(iterator: producer.makeAsyncIterator())
    }
}
