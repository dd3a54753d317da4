import Dispatch
import Foundation
import Glibc

/// The typed or piped lines, one message per line.
///
/// At most 16 lines are read ahead of the sent messages, so a faster writer waits.
struct LineInput: Sendable {
    enum Line: Hashable, Sendable {
        case text(String)
        case tooLong
    }

    /// The maximum size of a message in bytes.
    static let limit = 65_536
    private static let ahead = 16

    let lines: AsyncStream<Line>
    private let room: DispatchSemaphore

    init(descriptor: Int32 = STDIN_FILENO) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Line.self,
            bufferingPolicy: .bufferingOldest(Self.ahead)
        )
        // Dispatch traps when a semaphore is released with a lower value than its initial one, so the initial value is
        // 0.
        let room = DispatchSemaphore(value: 0)
        for _ in 0..<Self.ahead { room.signal() }
        lines = stream
        self.room = room
        // Reading blocks until a line is typed, so it has its own thread.
        Thread.detachNewThread {
            var reader = Reader(descriptor: descriptor)
            while let line = reader.next() {
                room.wait()
                continuation.yield(line)
            }
            continuation.finish()
        }
    }

    /// Marks a line as processed, so that another line may be read.
    func done() { room.signal() }

    private struct Reader {
        let descriptor: Int32
        private var bytes: [UInt8] = []
        private var isSkipping = false
        private var hasEnded = false

        init(descriptor: Int32) {
            self.descriptor = descriptor
        }

        /// Returns the next line that is not empty, or nil at the end.
        mutating func next() -> Line? {
            while true {
                if let end = bytes.firstIndex(of: 10) {
                    let line = Array(bytes[..<end])
                    bytes.removeFirst(end + 1)
                    if let found = parse(line) { return found }
                } else if hasEnded {
                    let line = bytes
                    bytes = []
                    return parse(line)
                } else {
                    if bytes.count > LineInput.limit {
                        bytes = []
                        isSkipping = true
                    }
                    readMore()
                }
            }
        }

        private mutating func parse(_ line: [UInt8]) -> Line? {
            defer { isSkipping = false }
            let line = line.last == 13 ? line.dropLast() : line[...]
            guard !isSkipping, line.count <= LineInput.limit else { return .tooLong }
            return line.isEmpty ? nil : .text(String(decoding: line, as: UTF8.self))
        }

        private mutating func readMore() {
            var chunk = [UInt8](repeating: 0, count: 16_384)
            let count = read(descriptor, &chunk, chunk.count)
            if count > 0 {
                bytes += chunk[..<count]
            } else if count == 0 || errno != EINTR {
                hasEnded = true
            }
        }
    }
}
