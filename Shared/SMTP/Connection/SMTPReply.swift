/// What a server says to a command (RFC 5321, section 4.2).
public struct SMTPReply: Hashable, Sendable {
    /// 200–599.
    public let code: Int
    /// Without the code; a line each.
    public let lines: [String]

    public init(code: Int, lines: [String]) {
        self.code = code
        self.lines = lines
    }

    public var text: String { lines.joined(separator: " ") }
    public var isPositive: Bool { (200..<400).contains(code) }
    /// Whether the same would get the same answer tomorrow.
    public var isPermanent: Bool { code >= 500 }
}

/// Gathers the lines of a reply.
struct SMTPReplyParser {
    /// A server that says more is none.
    static let maximumLines = 128
    /// RFC 5321 allows 512; some servers need more for what they offer.
    static let maximumLine = 2_048

    private var code: Int?
    private var lines: [String] = []

    /// Whether a reply has begun and not ended.
    var isInside: Bool { code != nil }

    /// Takes a line, without its end; answers a reply when it was the last one.
    ///
    /// - Throws: `SMTPError.notSMTP`.
    mutating func take(_ line: some Collection<UInt8>) throws -> SMTPReply? {
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
