import Foundation

extension QuietWindow {
    /// Whether the clock on the wall shows a time within.
    private func contains(secondOfDay second: Int) -> Bool {
        let (start, end) = (start * 60, end * 60)
        return start < end ? (start..<end).contains(second) : second >= start || second < end
    }

    /// When it will be over: the first moment after `now` at which the clock shows a time without; nil where it is now.
    ///
    /// A clock that is put forward or back counts as it shows: an end that is left out comes with the jump, and an hour
    /// that comes twice is quiet twice.
    func end(at now: Date, in zone: TimeZone) -> Date? {
        var moment = now
        guard contains(secondOfDay: Self.secondOfDay(moment, in: zone)) else { return nil }
        // Twice is what a clock change may take; a zone that changed daily would be cut off here.
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

/// Answers for a batch of people when their quiet hours end: for each kind of them once.
struct QuietHoursClock {
    let now: Date
    private var ends: [QuietWindow: Date?] = [:]

    init(now: Date) { self.now = now }

    /// Nil where it is not quiet now.
    mutating func end(of hours: QuietWindow) -> Date? {
        if let known = ends[hours] { return known }
        // Zones are checked when they are set; one that a later release of the zones has dropped is read as UTC.
        let end = hours.end(at: now, in: TimeZone(identifier: hours.timeZone) ?? .gmt)
        ends[hours] = .some(end)
        return end
    }
}
