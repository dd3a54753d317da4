/// A file's modification time in MS-DOS format: a resolution of two seconds, from 1980 to 2107, without a time zone.
public struct ZipTime: Hashable, Sendable {
    let date: UInt16
    let time: UInt16

    /// Creates a time from seconds since 1970 in UTC; times outside 1980 to 2107 become the nearest representable time.
    public init(secondsSince1970 seconds: Int64) {
        let earliest: Int64 = 315_532_800
        let latest: Int64 = 4_354_819_198
        let seconds = min(max(seconds, earliest), latest)
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        let (year, month, day) = Self.civil(days)
        date = UInt16((year - 1_980) << 9 | month << 5 | day)
        time = UInt16((rest / 3_600) << 11 | (rest % 3_600 / 60) << 5 | rest % 60 / 2)
    }

    /// Converts days since 1970 to a Gregorian date, in eras of 400 years that begin in March, so that the leap day is
    /// the last day of a year.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let (era, ofEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let dayOfYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
