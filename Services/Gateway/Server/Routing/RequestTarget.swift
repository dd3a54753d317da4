/// Validates a request's target before any decision uses it.
///
/// Only targets that every service reads in the same way are forwarded, byte for byte. The rules reject dot segments
/// and empty segments in any encoding, invalid or NUL escapes, backslashes, and everything outside printable ASCII.
enum RequestTarget {
    enum Validation: Equatable {
        /// `pathLength` is the number of bytes before the query.
        case clean(pathLength: Int)
        case malformed
    }

    static func validate(_ target: UnsafeBufferPointer<UInt8>) -> Validation {
        guard target.first == UInt8(ascii: "/") else { return .malformed }
        var pathLength = target.count
        var segmentStart = 1
        var index = 1
        while index < target.count {
            switch target[index] {
            case UInt8(ascii: "/"):
                guard isPlain(target[segmentStart..<index]) else { return .malformed }
                segmentStart = index + 1
            case UInt8(ascii: "?"):
                pathLength = index
                guard isQueryClean(target[index...]) else { return .malformed }
                index = target.count
                continue
            case UInt8(ascii: "%"):
                guard let byte = escape(in: target, at: index), byte != 0, byte != UInt8(ascii: "\\") else {
                    return .malformed
                }
                index += 2
            case UInt8(ascii: "\\"), UInt8(ascii: "#"), 0...0x20, 0x7F...:
                return .malformed
            default:
                break
            }
            index += 1
        }
        // The last segment may be empty: a trailing slash.
        let last = target[segmentStart..<pathLength]
        return last.isEmpty || isPlain(last) ? .clean(pathLength: pathLength) : .malformed
    }

    static func escape(in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt8? {
        guard index + 2 < bytes.count, let high = hexDigit(bytes[index + 1]), let low = hexDigit(bytes[index + 2])
        else {
            return nil
        }
        return high << 4 | low
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns whether a segment is not empty, `.` or `..`, with or without parameters after `;`.
    private static func isPlain(_ segment: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let first = segment.first else { return false }
        // The first byte decides nearly every segment.
        guard first == UInt8(ascii: ".") || first == UInt8(ascii: "%") || first == UInt8(ascii: ";") else {
            return true
        }
        let whole = UnsafeBufferPointer(rebasing: segment)
        var dots = 0
        var index = 0
        while index < whole.count {
            var byte = whole[index]
            if byte == UInt8(ascii: "%"), let decoded = escape(in: whole, at: index) {
                byte = decoded
                index += 2
            }
            if byte == UInt8(ascii: ";") { break }
            guard byte == UInt8(ascii: ".") else { return true }
            dots += 1
            index += 1
        }
        return dots > 2
    }

    private static func isQueryClean(_ query: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        query.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
    }
}
