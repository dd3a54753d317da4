import Foundation

extension QuietWindow {
    private func contains(secondOfDay second: Int) -> Bool {
        let (start, end) = (start * 60, end * 60)
        return start < end ? (start..<end).contains(second) : second >= start || second < end
    }

    /// Returns the first moment after `now` outside the window; nil if `now` is outside.
    ///
    /// The local clock decides, also at clock changes. An end that the clock skips takes effect at the jump; an hour
    /// that the clock repeats is quiet twice.
    func end(at now: Date, in zone: TimeZone) -> Date? {
        var moment = now
        guard contains(secondOfDay: Self.secondOfDay(moment, in: zone)) else { return nil }
        // A clock change needs two rounds at most; four rounds bound the loop for a zone with daily changes.
        for _ in 0..<4 {
            let left = (end * 60 - Self.secondOfDay(moment, in: zone) + 86_400) % 86_400
            let next = Self.wholeSecond(moment).addingTimeInterval(TimeInterval(left))
            guard let change = zone.nextDaylightSavingTimeTransition(after: moment), change < next else {
                guard contains(secondOfDay: Self.secondOfDay(next, in: zone)) else { return next }
                moment = next
                continue
            }
            guard contains(secondOfDay: Self.secondOfDay(change, in: zone)) else { return change }
            moment = change
        }
        return moment
    }

    private static func secondOfDay(_ moment: Date, in zone: TimeZone) -> Int {
        let local = Int(moment.timeIntervalSince1970.rounded(.down)) + zone.secondsFromGMT(for: moment)
        return ((local % 86_400) + 86_400) % 86_400
    }

    private static func wholeSecond(_ moment: Date) -> Date {
        Date(timeIntervalSince1970: moment.timeIntervalSince1970.rounded(.down))
    }
}

/// Computes the end of quiet hours for a batch of users, once for each distinct window.
struct QuietHoursClock {
    let now: Date
    private var ends: [QuietWindow: Date?] = [:]

    init(now: Date) { self.now = now }

    mutating func end(of hours: QuietWindow) -> Date? {
        if let cached = ends[hours] { return cached }
        // Settings accept known zones only. A zone that a later time zone database dropped counts as UTC.
        let end = hours.end(at: now, in: TimeZone(identifier: hours.timeZone) ?? .gmt)
        ends[hours] = .some(end)
        return end
    }
}
