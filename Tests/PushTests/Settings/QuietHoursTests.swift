import Foundation
import Testing

@testable import PushServer

@Suite("Quiet hours") struct QuietHoursTests {
    private static let night = QuietWindow(start: 22 * 60, end: 7 * 60, timeZone: "Europe/Berlin")

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let hours: QuietWindow
        let now: String
        /// The end of the quiet hours, or nil outside them.
        let end: String?

        var testDescription: String { name }
    }

    // 29 March 2026, 1:00 UTC: Berlin's clocks go from 2:00 to 3:00; 25 October, 1:00 UTC: from 3:00 back to 2:00.
    private static let cases = [
        Case(name: "before", hours: night, now: "2026-11-21T20:59:59Z", end: nil),
        Case(name: "the first second", hours: night, now: "2026-11-21T21:00:00Z", end: "2026-11-22T06:00:00Z"),
        Case(name: "before midnight", hours: night, now: "2026-11-21T22:30:00Z", end: "2026-11-22T06:00:00Z"),
        Case(name: "after midnight", hours: night, now: "2026-11-22T00:30:00.250Z", end: "2026-11-22T06:00:00Z"),
        Case(name: "the end is not quiet", hours: night, now: "2026-11-22T06:00:00Z", end: nil),
        Case(
            name: "within a day",
            hours: QuietWindow(start: 13 * 60, end: 14 * 60 + 30, timeZone: "Asia/Kolkata"),
            now: "2026-11-21T08:00:00Z",
            end: "2026-11-21T09:00:00Z"
        ),
        Case(
            name: "a night shortened by a clock change",
            hours: night,
            now: "2026-03-28T22:30:00Z",
            end: "2026-03-29T05:00:00Z"
        ),
        Case(
            name: "a night lengthened by a clock change",
            hours: night,
            now: "2026-10-24T21:00:00Z",
            end: "2026-10-25T06:00:00Z"
        ),
        Case(
            name: "an end that the clock change skips",
            hours: QuietWindow(start: 22 * 60, end: 150, timeZone: "Europe/Berlin"),
            now: "2026-03-29T00:30:00Z",
            end: "2026-03-29T01:00:00Z"
        ),
        Case(
            name: "a repeated end, the first time",
            hours: QuietWindow(start: 22 * 60, end: 150, timeZone: "Europe/Berlin"),
            now: "2026-10-25T00:10:00Z",
            end: "2026-10-25T00:30:00Z"
        ),
        Case(
            name: "a repeated end, the second time",
            hours: QuietWindow(start: 22 * 60, end: 150, timeZone: "Europe/Berlin"),
            now: "2026-10-25T01:10:00Z",
            end: "2026-10-25T01:30:00Z"
        ),
        Case(
            name: "a clock change of half an hour",
            hours: QuietWindow(start: 22 * 60, end: 7 * 60, timeZone: "Australia/Lord_Howe"),
            now: "2026-04-04T12:00:00Z",
            end: "2026-04-04T20:30:00Z"
        ),
    ]

    @Test("Quiet hours end at the local time of their zone, also across clock changes", arguments: cases)
    func end(_ given: Case) throws {
        let zone = try #require(TimeZone(identifier: given.hours.timeZone))

        let end = given.hours.end(at: date(given.now), in: zone)

        #expect(end == given.end.map(date))
    }

    /// The expected end is found minute by minute with Foundation's calendar.
    @Test(
        "The end of quiet hours agrees with Foundation's calendar near clock changes",
        arguments: ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Tokyo"]
    )
    func calendar(_ name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        var random = SystemRandomNumberGenerator()
        for _ in 0..<40 {
            let start = Int.random(in: 0..<1_440, using: &random)
            let hours = QuietWindow(
                start: start,
                end: (start + Int.random(in: 1..<1_440, using: &random)) % 1_440,
                timeZone: name
            )
            // Near one of the year's clock changes, where there are any.
            let changes = [date("2026-01-01T00:00:00Z"), date("2026-07-01T00:00:00Z")]
                .map { zone.nextDaylightSavingTimeTransition(after: $0) ?? $0 }
            let near = try #require(changes.randomElement(using: &random))
            let minutes = Int.random(in: -1_500...1_500, using: &random)
            let now = near.addingTimeInterval(TimeInterval(minutes * 60))
            func isQuiet(_ moment: Date) -> Bool {
                let parts = calendar.dateComponents([.hour, .minute], from: moment)
                let minute = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
                return hours.start < hours.end
                    ? hours.start <= minute && minute < hours.end : minute >= hours.start || minute < hours.end
            }
            var end: Date? = now
            if isQuiet(now) {
                while let moment = end, isQuiet(moment) { end = moment.addingTimeInterval(60) }
            } else {
                end = nil
            }

            let found = hours.end(at: now, in: zone)

            #expect(found == end, "\(hours.start)–\(hours.end) at \(now)")
        }
    }
}
