package import Glibc

/// The date format of HTTP (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    package static func text(_ second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
            + "\(parts.tm_year + 1_900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}

/// A cache of the current date as HTTP text, updated once a second; each event loop or connection has its own.
package struct HTTPClock {
    private var second: time_t = 0
    private var text = ""

    package init() {}

    package mutating func now() -> String {
        let second = time(nil)
        if second != self.second { (self.second, text) = (second, HTTPDate.text(second)) }
        return text
    }
}
