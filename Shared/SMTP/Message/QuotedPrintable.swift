/// Quoted-printable encoding: 7-bit text in lines of at most 76 characters (RFC 2045, section 6.7).
enum QuotedPrintable {
    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let maximumLine = 75

    /// Encodes text; any line break becomes CRLF, and the last line ends with one too.
    static func encode(_ text: String) -> [UInt8] {
        var encoded: [UInt8] = []
        let unified = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        for line in unified.split(separator: "\n", omittingEmptySubsequences: false) { append(line, to: &encoded) }
        return encoded
    }

    private static func append(_ line: Substring, to encoded: inout [UInt8]) {
        var length = 0
        let bytes = Array(line.utf8)
        for (index, byte) in bytes.enumerated() {
            let isLast = index == bytes.count - 1
            let piece = piece(of: byte, isLast: isLast)
            if length + piece.count > maximumLine {
                encoded += "=\r\n".utf8
                length = 0
            }
            encoded += piece
            length += piece.count
        }
        encoded += "\r\n".utf8
    }

    private static func piece(of byte: UInt8, isLast: Bool) -> [UInt8] {
        let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
        let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
        // Mail servers may strip white space at the end of a line.
        guard !isPlain, !(isSpace && !isLast) else { return [byte] }
        return [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
