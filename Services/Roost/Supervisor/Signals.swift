import Dispatch
import Glibc

/// The signals that this process receives, as a sequence; the given signals no longer end the process.
struct Signals: AsyncSequence, Sendable {
    private let stream: AsyncStream<Int32>
    /// Only retained, never accessed again.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32]) {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(16))
        self.stream = stream
        sources = numbers.map { number in
            // Ignored first, so that the default action cannot run before the source exists.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }

    func makeAsyncIterator() -> AsyncStream<Int32>.Iterator { stream.makeAsyncIterator() }
}
