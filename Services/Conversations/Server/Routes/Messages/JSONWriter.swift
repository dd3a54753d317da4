import Foundation
import NIOCore
import Wire

/// A writer of JSON directly into the buffer that is sent.
///
/// For a history of twenty messages, an encoder costs more than the database; this writer costs little more than a
/// copy.
struct JSONWriter: ~Copyable {
    // Plain memory: a shareable buffer checks for shared storage at each of a page's thousand small writes.
    private var memory: UnsafeMutableRawBufferPointer
    private var count = 0

    init(capacity: Int) {
        memory = .allocate(byteCount: max(capacity, 64), alignment: 1)
    }

    deinit {
        memory.deallocate()
    }

    /// A copy of the bytes written.
    var buffer: ByteBuffer { ByteBuffer(bytes: memory[..<count]) }

    /// Writes JSON text unchanged.
    mutating func raw(_ text: StaticString) {
        bytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    private mutating func byte(_ byte: UInt8) {
        reserve(1)
        memory[count] = byte
        count += 1
    }

    private mutating func reserve(_ more: Int) {
        guard count + more > memory.count else { return }
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count + more, 2 * memory.count), alignment: 1)
        grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        memory.deallocate()
        memory = grown
    }

    mutating func number(_ value: Int64) {
        // Digits are written from the right; the most negative number has 20 characters.
        reserve(20)
        var rest = value.magnitude
        var length = 1
        while rest > 9 {
            rest /= 10
            length += 1
        }
        if value < 0 { byte(UInt8(ascii: "-")) }
        rest = value.magnitude
        for index in (count..<count + length).reversed() {
            memory[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        count += length
    }

    /// Writes a quoted string and escapes only the characters that RFC 8259, section 7, requires.
    mutating func string(_ text: String) {
        var text = text
        byte(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            let utf8 = UnsafeRawBufferPointer(utf8)
            var start = 0
            for index in utf8.indices where utf8[index] < 0x20 || utf8[index] == 0x22 || utf8[index] == 0x5C {
                bytes(UnsafeRawBufferPointer(rebasing: utf8[start..<index]))
                escape(utf8[index])
                start = index + 1
            }
            bytes(UnsafeRawBufferPointer(rebasing: utf8[start...]))
        }
        byte(UInt8(ascii: "\""))
    }

    private mutating func escape(_ character: UInt8) {
        switch character {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case UInt8(ascii: "\n"): raw("\\n")
        case UInt8(ascii: "\r"): raw("\\r")
        case UInt8(ascii: "\t"): raw("\\t")
        default:
            raw("\\u00")
            for digit in [character >> 4, character & 15] { byte(digit < 10 ? 48 + digit : 87 + digit) }
        }
    }

    /// Writes a time in RFC 3339, in UTC with milliseconds, as `Timestamp` does.
    mutating func time(_ date: Date) {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1_000).rounded())
        let (seconds, fraction) = (milliseconds.flooredQuotient(1_000), milliseconds.flooredRemainder(1_000))
        let (days, second) = (seconds.flooredQuotient(86_400), seconds.flooredRemainder(86_400))
        let (year, month, day) = Self.civil(days)
        raw("\"")
        digits(year, 4)
        raw("-")
        digits(month, 2)
        raw("-")
        digits(day, 2)
        raw("T")
        digits(second / 3_600, 2)
        raw(":")
        digits(second / 60 % 60, 2)
        raw(":")
        digits(second % 60, 2)
        raw(".")
        digits(fraction, 3)
        raw("Z\"")
    }

    private mutating func digits(_ value: Int64, _ count: Int) {
        var divisor: Int64 = 1
        for _ in 1..<count { divisor *= 10 }
        while divisor > 0 {
            byte(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }

    /// Returns the year, month and day of a day number counted from 1970-01-01 (Howard Hinnant, "chrono-Compatible
    /// Low-Level Date Algorithms", civil_from_days).
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted.flooredRemainder(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// Writes any JSON value; numbers with a fraction are written by the suite's encoder.
    mutating func value(_ value: JSONValue) throws {
        switch value {
        case .null: raw("null")
        case .bool(let value): raw(value ? "true" : "false")
        case .integer(let value): number(value)
        case .string(let value): string(value)
        case .object(let fields) where fields.isEmpty: raw("{}")
        case .number, .array, .object: try value.compact().withUnsafeBytes { bytes($0) }
        }
    }
}

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 { (self - flooredRemainder(divisor)) / divisor }

    fileprivate func flooredRemainder(_ divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
