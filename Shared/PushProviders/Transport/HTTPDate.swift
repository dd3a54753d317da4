import Foundation

/// The preferred date format of HTTP (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func parse(_ text: String) -> Date? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let time = words[4].split(separator: ":").compactMap { Int($0) }
        guard time.count == 3 else { return nil }
        var parts = DateComponents()
        parts.calendar = Calendar(identifier: .gregorian)
        parts.timeZone = .gmt
        parts.year = Int(words[3])
        parts.month = month + 1
        parts.day = Int(words[1])
        (parts.hour, parts.minute, parts.second) = (time[0], time[1], time[2])
        return parts.date
    }
}
