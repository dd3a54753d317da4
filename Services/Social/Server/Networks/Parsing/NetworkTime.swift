import Foundation

/// The parser of the networks' time formats.
enum NetworkTime {
    /// Returns the time if it is in the years 1 to 9999; nil for others, which databases and text formats do not
    /// support.
    static func plausible(_ date: Date) -> Date? {
        (-62_135_596_800.0..<253_402_300_800.0).contains(date.timeIntervalSince1970) ? date : nil
    }

    /// Parses RFC 3339 and ISO 8601, also with `+0000` without a colon, without a zone (UTC) and with any fraction.
    ///
    /// Other formats: Twitter's `Sat Jul 13 02:27:22 +0000 2019`, that of HTTP, and Tumblr's `2011-02-25 20:27:00 GMT`.
    static func date(_ text: String) -> Date? {
        guard text.utf8.count <= 40 else { return nil }
        return text.utf8.first.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } == true
            ? iso(text) : named(text)
    }

    private static func iso(_ text: String) -> Date? {
        var scan = Scan(text)
        guard let year = scan.number(4), scan.skip("-"), let month = scan.number(2), scan.skip("-"),
            let day = scan.number(2), scan.skip("T") || scan.skip("t") || scan.skip(" "),
            let seconds = scan.clock()
        else { return nil }
        let fraction = scan.skip(".") ? scan.fraction() : 0
        guard let zone = scan.zone(), scan.isAtEnd else { return nil }
        return civil(year, month, day).map { $0.addingTimeInterval(Double(seconds - zone) + fraction) }
    }

    /// Parses `Sat Jul 13 02:27:22 +0000 2019` or `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func named(_ text: String) -> Date? {
        let parts = text.split(separator: " ").map(String.init)
        guard parts.count == 6 else { return nil }
        let isHTTP = parts[0].hasSuffix(",")
        let (month, day, clock, zone, year) =
            isHTTP
            ? (parts[2], parts[1], parts[4], parts[5], parts[3]) : (parts[1], parts[2], parts[3], parts[4], parts[5])
        var (clockScan, zoneScan) = (Scan(clock), Scan(zone))
        guard let month = months.firstIndex(of: month), let day = Int(day), let year = Int(year),
            let seconds = clockScan.clock(), let offset = zoneScan.zone()
        else { return nil }
        return civil(year, month + 1, day).map { $0.addingTimeInterval(Double(seconds - offset)) }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns midnight of a day of the Gregorian calendar, in UTC.
    private static func civil(_ year: Int, _ month: Int, _ day: Int) -> Date? {
        guard 1...9_999 ~= year, 1...12 ~= month, 1...31 ~= day else { return nil }
        // Here a year begins in March, so that the leap day is its last.
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let ofEra = shifted - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        return Date(timeIntervalSince1970: Double(days) * 86_400)
    }

    private struct Scan {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = Substring(text).utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ digits: Int) -> Int? {
            var value = 0
            for _ in 0..<digits {
                guard let byte = rest.popFirst(), UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }

        mutating func fraction() -> Double {
            var (digits, unit) = (0.0, 1.0)
            while let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
                // Digits below a nanosecond are skipped.
                if unit < 1e9 { (digits, unit) = (digits * 10 + Double(byte - UInt8(ascii: "0")), unit * 10) }
                rest.removeFirst()
            }
            return digits / unit
        }

        /// Parses `08:49:37`; returns the seconds.
        mutating func clock() -> Int? {
            guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
                hour < 24, minute < 60, second <= 60
            else { return nil }
            return hour * 3_600 + minute * 60 + second
        }

        /// Parses a zone; returns the seconds ahead of UTC, and 0 for an empty zone.
        mutating func zone() -> Int? {
            _ = skip(" ")
            if isAtEnd { return 0 }
            if skip("Z") || skip("z") { return 0 }
            if rest.elementsEqual("GMT".utf8) || rest.elementsEqual("UTC".utf8) {
                rest = rest[rest.endIndex...]
                return 0
            }
            guard let sign = rest.popFirst(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
                let hours = number(2)
            else { return nil }
            _ = skip(":")
            guard let minutes = number(2) else { return nil }
            return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        }
    }
}
