import Foundation

/// A W3C `traceparent` header: the one of the request, or a new one if it is missing or invalid.
struct TraceParent: Hashable, Sendable {
    /// The header's text: 55 characters of version 00, also if the request had a later version.
    let text: String

    /// The id of the trace: 32 hexadecimal digits.
    var traceID: Substring { text.dropFirst(3).prefix(32) }

    init(_ given: String?) {
        if let given, Self.isValid(given.utf8) {
            // Fields that later versions append after the flags must not be forwarded.
            text = "00" + given.dropFirst(2).prefix(53)
        } else {
            var generator = SystemRandomNumberGenerator()
            let words = (0..<3).map { _ in Self.hex(generator.next() | 1) }
            text = "00-\(words[0])\(words[1])-\(words[2])-01"
        }
    }

    /// Returns whether the text is a valid header.
    ///
    /// The digits are lower-case, no id is zero, and only later versions have fields after the flags.
    ///
    /// Source: [Trace Context, 3.2](https://www.w3.org/TR/trace-context/#traceparent-header).
    private static func isValid(_ text: String.UTF8View) -> Bool {
        let bytes = Array(text.prefix(56))
        guard bytes.count >= 55, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash else { return false }
        let parts = [bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55]]
        guard parts.allSatisfy({ $0.allSatisfy(isHex) }), bytes[0..<2] != [f, f],
            parts[1].contains(where: { $0 != zero }), parts[2].contains(where: { $0 != zero })
        else { return false }
        return bytes.count == 55 || (bytes[0..<2] != [zero, zero] && bytes[55] == dash)
    }

    private static let dash = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")
    private static let f = UInt8(ascii: "f")

    private static func isHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
