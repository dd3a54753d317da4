import Glibc
public import NIOCore

/// Takes a form apart as its bytes come in (RFC 7578, RFC 2046 section 5.1), in constant memory.
///
/// Bytes go in by ``feed(_:)``, and what they say comes out of ``next()`` until it answers nil; at the end of the body
/// ``finish()`` says whether the form was whole. However the body is cut into buffers, the events say the same, but that
/// a part's content may come in other pieces.
public struct MultipartParser: Sendable {
    /// What is read next out of a form.
    public enum Event: Hashable, Sendable {
        /// A part begins.
        case part(MultipartPart)
        /// The next bytes of its content; never none.
        case content(ByteBuffer)
        /// It is whole.
        case endOfPart
        /// The form is whole; whatever follows is left out.
        case end
    }

    private enum State {
        case preamble
        /// Behind a delimiter: another part, or the end.
        case delimiter
        case header
        case content
        case over
    }

    private let limits: MultipartLimits
    /// CR LF, two dashes, the boundary.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var buffer = ByteBuffer()
    private var parts = 0
    private var skipped = 0
    /// Of the header being read: where its present line begins, and how far a line's end was looked for.
    private var line = 0
    private var searched = 0

    /// Nil for what is no boundary: 1 to 70 characters that may stand in one (RFC 2046, section 5.1.1).
    public init?(boundary: String, limits: MultipartLimits = MultipartLimits()) {
        let mayStand = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: "'()+_,-./:=? ".utf8.contains(byte)
            }
        }
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(mayStand), boundary.last != " " else {
            return nil
        }
        self.limits = limits
        delimiter = Array("\r\n--\(boundary)".utf8)
        // So that a delimiter at the very beginning is like any other.
        buffer.writeString("\r\n")
    }

    /// How many bytes wait for what follows them: less than two delimiters and a header.
    public var waitingBytes: Int { buffer.readableBytes }

    /// Takes the next bytes of the body; ask ``next()`` until it answers nil before the next are fed.
    public mutating func feed(_ bytes: ByteBuffer) {
        guard state != .over else { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// What comes next; nil where that takes more bytes.
    public mutating func next() throws(MultipartError) -> Event? {
        while true {
            switch state {
            case .preamble:
                guard try skipPreamble() else { return nil }
            case .delimiter:
                guard let isLast = try readDelimiterEnd() else { return nil }
                if isLast {
                    state = .over
                    buffer.clear()
                    return .end
                }
                state = .header
            case .header:
                guard let part = try readHeader() else { return nil }
                state = .content
                return .part(part)
            case .content: return readContent()
            case .over: return nil
            }
        }
    }

    /// At the end of the body.
    ///
    /// - Throws: ``MultipartError/truncated`` where the last delimiter has not come.
    public func finish() throws(MultipartError) {
        guard state == .over else { throw .truncated }
    }

    private mutating func skipPreamble() throws(MultipartError) -> Bool {
        let (clear, isFound) = search()
        buffer.moveReaderIndex(forwardBy: clear)
        skipped += clear
        guard skipped <= limits.preamble else { throw .malformed("the boundary is not where the form begins") }
        guard isFound else { return false }
        buffer.moveReaderIndex(forwardBy: delimiter.count)
        state = .delimiter
        return true
    }

    /// Whether the delimiter is the last one; nil where one cannot know yet.
    private mutating func readDelimiterEnd() throws(MultipartError) -> Bool? {
        let bytes = buffer.readableBytesView
        guard let first = bytes.first else { return nil }
        if first == UInt8(ascii: "-") {
            guard bytes.count >= 2 else { return nil }
            guard bytes[bytes.startIndex + 1] == UInt8(ascii: "-") else { throw Self.badDelimiter }
            return true
        }
        // White space may follow it (RFC 2046, "transport padding"), but none that goes on and on.
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            guard bytes.count <= 64 else { throw Self.badDelimiter }
            return nil
        }
        let padding = bytes[..<end]
        guard padding.last == UInt8(ascii: "\r"), padding.dropLast().allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else {
            throw Self.badDelimiter
        }
        buffer.moveReaderIndex(forwardBy: padding.count + 1)
        parts += 1
        guard parts <= limits.parts else { throw .tooManyParts(limit: limits.parts) }
        return false
    }

    private mutating func readHeader() throws(MultipartError) -> MultipartPart? {
        let bytes = buffer.readableBytesView
        let start = bytes.startIndex
        // Up to the empty line.
        while let end = bytes[(start + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
            guard end - start < limits.header else { throw .headerTooLarge(limit: limits.header) }
            guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else {
                throw .malformed("a part's header has a line without CR LF")
            }
            if end - start == line + 1 {
                let part = try MultipartPart(header: Array(bytes[..<(start + line)]))
                buffer.moveReaderIndex(forwardBy: line + 2)
                (line, searched) = (0, 0)
                return part
            }
            line = end + 1 - start
            searched = line
        }
        searched = bytes.count
        guard searched <= limits.header else { throw .headerTooLarge(limit: limits.header) }
        return nil
    }

    private mutating func readContent() -> Event? {
        let (clear, isFound) = search()
        if clear > 0 { return buffer.readSlice(length: clear).map(Event.content) }
        guard isFound else { return nil }
        buffer.moveReaderIndex(forwardBy: delimiter.count)
        state = .delimiter
        return .endOfPart
    }

    /// How many bytes are certainly before the next delimiter, and whether it follows them.
    private func search() -> (clear: Int, isFound: Bool) {
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress else { return (0, false) }
            var start = 0
            while start < bytes.count, let found = memchr(base + start, Int32(UInt8(ascii: "\r")), bytes.count - start)
            {
                let place = UnsafeRawPointer(found) - base
                let length = min(delimiter.count, bytes.count - place)
                if delimiter.withUnsafeBytes({ memcmp(base + place, $0.baseAddress ?? base, length) }) == 0 {
                    guard length == delimiter.count, let next = follower(bytes, place) else { return (place, false) }
                    if next { return (place, true) }
                }
                start = place + 1
            }
            return (bytes.count, false)
        }
    }

    /// Whether what follows makes it a delimiter, and no line that only begins like one; nil: it has not come.
    private func follower(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Bool? {
        let end = place + delimiter.count
        guard end < bytes.count else { return nil }
        return " \t\r-".utf8.contains(bytes[end])
    }

    private static let badDelimiter = MultipartError.malformed("a delimiter is followed by something else")
}
