package import Foundation

/// Times as text: RFC 3339 in UTC with milliseconds, on the wire and in logs.
package enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static let wholeSeconds = Date.ISO8601FormatStyle()

    /// A time as `2026-11-21T04:40:18.123Z`.
    ///
    /// Rounded to the nearest millisecond, so that a time read back is the one written.
    package static func string(from date: Date) -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        // Half a microsecond on top: the style cuts off, and a binary fraction may lie just below its millisecond.
        return Date(timeIntervalSince1970: milliseconds / 1_000 + 0.000_000_5).formatted(style)
    }

    /// Any RFC 3339 time, whatever its offset and fraction; nil for what is none.
    package static func date(from text: some StringProtocol) -> Date? {
        let text = String(text)
        guard text.utf8.count <= 40, text.utf8.contains(UInt8(ascii: "T")) || text.utf8.contains(UInt8(ascii: "t"))
        else {
            return nil
        }
        let upper = text.uppercased()
        // One of the two fits; which one is told only by trying.
        return (try? style.parse(upper)) ?? (try? wholeSeconds.parse(upper))
    }
}
