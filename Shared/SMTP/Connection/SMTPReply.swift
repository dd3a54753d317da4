/// A server's reply to a command (RFC 5321, section 4.2).
public struct SMTPReply: Hashable, Sendable {
    /// The reply code, 200–599.
    public let code: Int
    /// The text lines, without the code.
    public let lines: [String]

    /// Creates a reply.
    public init(code: Int, lines: [String]) {
        self.code = code
        self.lines = lines
    }

    /// The lines, joined by spaces.
    public var text: String { lines.joined(separator: " ") }
    /// Whether the server accepted the command or expects more data.
    public var isPositive: Bool { (200..<400).contains(code) }
    /// Whether a retry of the same command would fail again.
    public var isPermanent: Bool { code >= 500 }
}

/// A parser that collects the lines of a reply.
struct SMTPReplyParser {
    /// The largest number of lines in a reply.
    static let maximumLines = 128
    /// The longest line in bytes.
    ///
    /// RFC 5321 allows 512; the EHLO replies of some servers are longer.
    static let maximumLine = 2_048

    private var code: Int?
    private var lines: [String] = []

    /// Whether a reply is incomplete.
    var isInside: Bool { code != nil }

    /// Parses a line without its line end; returns the reply after its last line.
    ///
    /// - Throws: `SMTPError.notSMTP`.
    mutating func parse(_ line: some Collection<UInt8>) throws -> SMTPReply? {
        let bytes = Array(line)
        guard bytes.count >= 3, let code = Int(String(decoding: bytes.prefix(3), as: UTF8.self)),
            (200..<600).contains(code), self.code == nil || self.code == code, lines.count < Self.maximumLines
        else { throw SMTPError.notSMTP }
        let mark = bytes.count > 3 ? bytes[3] : UInt8(ascii: " ")
        guard mark == UInt8(ascii: " ") || mark == UInt8(ascii: "-") else { throw SMTPError.notSMTP }
        lines.append(String(decoding: bytes.dropFirst(4), as: UTF8.self))
        self.code = code
        guard mark == UInt8(ascii: " ") else { return nil }
        defer { self = SMTPReplyParser() }
        return SMTPReply(code: code, lines: lines)
    }
}
