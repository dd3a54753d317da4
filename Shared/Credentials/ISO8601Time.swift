package import Foundation
package import Wire

/// Parsing of ISO 8601 times, in more variants than RFC 3339.
///
/// A date and a time of day, in extended (`2016-03-22T18:00:00.5+08:00`) or basic format (`20160322T180000Z`). A space
/// may replace the T, a comma the point, and seconds are optional. The offset is `Z`, `+08:00`, `+0800` or `+08`;
/// without an offset the time is in UTC. A date without a time is its first moment.
package enum ISO8601Time {
    static let maximumLength = 40
    /// The first moment after the years with four digits, in seconds since 1970.
    private static let latest = 253_402_300_800.0

    /// Parses a claim of an account server: a text, or seconds since 1970.
    package static func date(claim: JSONValue?) -> Date? {
        let seconds: Double? =
            switch claim {
            case .integer(let value): Double(value)
            case .number(let value): value
            case .string(let text): date(from: text)?.timeIntervalSince1970
            default: nil
            }
        guard let seconds, (0..<latest).contains(seconds) else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }

    package static func date(from text: String) -> Date? {
        guard text.utf8.count <= maximumLength else { return nil }
        var reader = Reader(text: text.utf8[...])
        guard let days = reader.days() else { return nil }
        guard !reader.isAtEnd else { return Date(timeIntervalSince1970: Double(days) * 86_400) }
        guard reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let seconds = reader.timeOfDay(), let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        return Date(timeIntervalSince1970: Double(days) * 86_400 + seconds - Double(offset))
    }
}

/// A parser that consumes a text from its start; its methods return nil for invalid input.
private struct Reader {
    var text: Substring.UTF8View
    /// Whether the date had hyphens; then the time must have colons.
    private var isExtended = true

    init(text: Substring.UTF8View) {
        self.text = text
    }

    var isAtEnd: Bool { text.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard text.first == UInt8(ascii: character) else { return false }
        text.removeFirst()
        return true
    }

    /// Returns the days since 1970.
    mutating func days() -> Int? {
        guard let year = number(digits: 4) else { return nil }
        isExtended = skip("-")
        guard let month = number(digits: 2), !isExtended || skip("-"), let day = number(digits: 2),
            year >= 1, (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        // The year starts on 1 March, so that the leap day is its last day (Howard Hinnant, days_from_civil).
        let years = month > 2 ? year : year - 1
        let (era, yearOfEra) = (years / 400, years % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the seconds since midnight.
    mutating func timeOfDay() -> Double? {
        guard let hour = number(digits: 2), hour <= 24 else { return nil }
        if isExtended, !skip(":") { return nil }
        guard let minute = number(digits: 2), minute <= 59 else { return nil }
        var seconds = 0.0
        if isExtended ? skip(":") : text.first.map(Self.isDigit) ?? false {
            // A leap second counts as the first second of the next minute.
            guard let second = number(digits: 2), second <= 60 else { return nil }
            seconds = Double(second)
            if skip(".") || skip(",") {
                guard let fraction = fraction() else { return nil }
                seconds += fraction
            }
        }
        let whole = Double(hour * 3_600 + minute * 60) + seconds
        return hour < 24 || whole == 86_400 ? whole : nil
    }

    /// Returns the seconds by which local time is ahead of UTC.
    mutating func offset() -> Int? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let isAhead = skip("+")
        guard isAhead || skip("-"), let hours = number(digits: 2), hours <= 23 else { return nil }
        var minutes = 0
        if !isAtEnd {
            // The colon is optional, regardless of the time's format, because programs mix the two.
            _ = skip(":")
            guard let number = number(digits: 2), number <= 59 else { return nil }
            minutes = number
        }
        return (isAhead ? 60 : -60) * (hours * 60 + minutes)
    }

    private mutating func number(digits: Int) -> Int? {
        let bytes = text.prefix(digits)
        guard bytes.count == digits, bytes.allSatisfy(Self.isDigit) else { return nil }
        text.removeFirst(digits)
        return bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private mutating func fraction() -> Double? {
        let digits = text.prefix(while: Self.isDigit)
        text.removeFirst(digits.count)
        return digits.isEmpty ? nil : Double("0.\(String(decoding: digits, as: UTF8.self))")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
