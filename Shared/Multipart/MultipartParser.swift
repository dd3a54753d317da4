import Glibc
public import NIOCore

/// A streaming parser of forms (RFC 7578, RFC 2046 section 5.1) with constant memory.
///
/// Pass buffers to ``feed(_:)`` and call ``next()`` until it returns nil; at the end of the body call ``finish()``. The
/// division of the body into buffers does not change the events, except for the pieces of a part's content.
public struct MultipartParser: Sendable {
    /// A parsing event.
    public enum Event: Hashable, Sendable {
        /// The beginning of a part.
        case part(MultipartPart)
        /// The next bytes of the part's content; never empty.
        case content(ByteBuffer)
        /// The end of the part.
        case endOfPart
        /// The end of the form; later bytes are ignored.
        case end
    }

    private enum State {
        case preamble
        /// After a delimiter, before either a part or the end.
        case delimiter
        case header
        case content
        case over
    }

    private let limits: MultipartLimits
    /// CR LF, two dashes, and the boundary.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var buffer = ByteBuffer()
    private var parts = 0
    private var skipped = 0
    /// The start of the current header line, and the number of bytes already searched for a line end.
    private var line = 0
    private var searched = 0

    /// Creates a parser for a boundary.
    ///
    /// Returns nil unless the boundary has 1 to 70 of the characters that RFC 2046 allows (section 5.1.1).
    public init?(boundary: String, limits: MultipartLimits = MultipartLimits()) {
        let isAllowed = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: "'()+_,-./:=? ".utf8.contains(byte)
            }
        }
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(isAllowed), boundary.last != " " else {
            return nil
        }
        self.limits = limits
        delimiter = Array("\r\n--\(boundary)".utf8)
        // A delimiter at the beginning of the body is then like any other.
        buffer.writeString("\r\n")
    }

    /// The number of buffered bytes: less than two delimiters and a header.
    public var waitingBytes: Int { buffer.readableBytes }

    /// Appends bytes of the body; call ``next()`` until it returns nil before the next call.
    public mutating func feed(_ bytes: ByteBuffer) {
        guard state != .over else { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next event; nil if it requires more bytes.
    ///
    /// - Throws: ``MultipartError``; the parser must not be used afterwards.
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

    /// Checks that the form is complete at the end of the body.
    ///
    /// - Throws: ``MultipartError/truncated`` if the final delimiter is missing.
    public func finish() throws(MultipartError) {
        guard state == .over else { throw .truncated }
    }

    private mutating func skipPreamble() throws(MultipartError) -> Bool {
        let (clear, isFound) = search()
        buffer.moveReaderIndex(forwardBy: clear)
        skipped += clear
        guard skipped <= limits.preamble else { throw .malformed("the form does not begin with the boundary") }
        guard isFound else { return false }
        buffer.moveReaderIndex(forwardBy: delimiter.count)
        state = .delimiter
        return true
    }

    /// Returns whether the delimiter is the final one; nil if more bytes are needed.
    private mutating func readDelimiterEnd() throws(MultipartError) -> Bool? {
        let bytes = buffer.readableBytesView
        guard let first = bytes.first else { return nil }
        if first == UInt8(ascii: "-") {
            guard bytes.count >= 2 else { return nil }
            guard bytes[bytes.startIndex + 1] == UInt8(ascii: "-") else { throw Self.badDelimiter }
            return true
        }
        // White space may follow the delimiter ("transport padding" in RFC 2046). More than 64 bytes without the end of
        // the line are rejected.
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
        while let end = bytes[(start + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
            guard end - start < limits.header else { throw .headerTooLarge(limit: limits.header) }
            guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else {
                throw .malformed("a line of a part's header does not end with CR LF")
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

    /// Returns the number of bytes that certainly precede the next delimiter, and whether it follows them.
    private func search() -> (clear: Int, isFound: Bool) {
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress else { return (0, false) }
            var start = 0
            while start < bytes.count, let found = memchr(base + start, Int32(UInt8(ascii: "\r")), bytes.count - start)
            {
                let offset = UnsafeRawPointer(found) - base
                let length = min(delimiter.count, bytes.count - offset)
                if delimiter.withUnsafeBytes({ memcmp(base + offset, $0.baseAddress ?? base, length) }) == 0 {
                    guard length == delimiter.count, let isEnd = endsDelimiter(bytes, offset) else {
                        return (offset, false)
                    }
                    if isEnd { return (offset, true) }
                }
                start = offset + 1
            }
            return (bytes.count, false)
        }
    }

    /// Returns whether the next byte makes this a delimiter, not just a line with that prefix; nil if the byte is
    /// missing.
    private func endsDelimiter(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool? {
        let end = offset + delimiter.count
        guard end < bytes.count else { return nil }
        return " \t\r-".utf8.contains(bytes[end])
    }

    private static let badDelimiter = MultipartError.malformed("a delimiter is followed by other text")
}
