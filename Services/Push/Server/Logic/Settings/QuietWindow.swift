import Foundation
import PushAPI
import Wire

/// Quiet hours in the database: minutes of the day in a time zone.
struct QuietWindow: Hashable, Sendable {
    let start: Int
    let end: Int
    let timeZone: String

    init(start: Int, end: Int, timeZone: String) {
        self.start = start
        self.end = end
        self.timeZone = timeZone
    }

    /// - Throws: a 400 error that names the field below `quietHours`.
    init(_ hours: QuietHours) throws {
        start = try Self.minute(hours.start, field: "quietHours.start")
        end = try Self.minute(hours.end, field: "quietHours.end")
        guard start != end else {
            let message = "must differ from the start; to turn off all notifications, set \"enabled\" to false"
            throw APIError.invalid("quietHours.end", message, code: "empty_quiet_hours")
        }
        guard Self.isZone(hours.timeZone) else {
            let message = "must be the name of a time zone, such as Europe/Berlin"
            throw APIError.invalid("quietHours.timeZone", message, code: "unknown_time_zone")
        }
        timeZone = hours.timeZone
    }

    var hours: QuietHours { QuietHours(start: Self.text(start), end: Self.text(end), timeZone: timeZone) }

    private static func minute(_ text: String, field: String) throws -> Int {
        let digits = text.utf8.map { Int($0) - Int(UInt8(ascii: "0")) }
        guard digits.count == 5, text.utf8.dropFirst(2).first == UInt8(ascii: ":"),
            [0, 1, 3, 4].allSatisfy({ (0...9).contains(digits[$0]) })
        else { throw APIError.invalid(field, "must be a time of day as HH:MM", code: "malformed_time") }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[3] * 10 + digits[4])
        guard hour < 24, minute < 60 else {
            throw APIError.invalid(field, "must be a time of day from 00:00 to 23:59", code: "malformed_time")
        }
        return hour * 60 + minute
    }

    private static func text(_ minute: Int) -> String {
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(twoDigits(minute / 60)):\(twoDigits(minute % 60))"
    }

    /// Accepts IANA names only: abbreviations are ambiguous, and an offset has no clock changes.
    private static func isZone(_ name: String) -> Bool {
        (name.contains("/") || name == "UTC") && name.utf8.count <= 64 && TimeZone(identifier: name) != nil
    }
}
