package import Foundation

/// The text form of times in JSON and logs: RFC 3339 in UTC with milliseconds.
package enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static let wholeSeconds = Date.ISO8601FormatStyle()

    /// Returns a time like `2026-11-21T04:40:18.123Z`.
    ///
    /// The time is rounded to milliseconds, so that parsing the text returns the same time.
    ///
    /// - Parameter date: the time.
    /// - Returns: the text.
    package static func string(from date: Date) -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        // The style truncates, and a binary fraction may be slightly below its millisecond, so half a microsecond is
        // added.
        return Date(timeIntervalSince1970: milliseconds / 1_000 + 0.000_000_5).formatted(style)
    }

    /// Parses an RFC 3339 time with any offset and fraction; returns nil for other texts.
    package static func date(from text: some StringProtocol) -> Date? {
        let text = String(text)
        guard text.utf8.count <= 40, text.utf8.contains(UInt8(ascii: "T")) || text.utf8.contains(UInt8(ascii: "t"))
        else {
            return nil
        }
        let upper = text.uppercased()
        // Exactly one of the two styles parses the text.
        return (try? style.parse(upper)) ?? (try? wholeSeconds.parse(upper))
    }
}
