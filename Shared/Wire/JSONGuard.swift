package import Foundation

/// Refuses what the decoder would let through: JSON deeper than 64 levels, and NUL in a string.
///
/// PostgreSQL cannot store U+0000, and a decoder recurses. One pass over the bytes, before anything is built; whether
/// the text is well-formed is left to the decoder.
package enum JSONGuard {
    package static let maximumDepth = 64

    package static func check(_ body: Data) throws {
        try body.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in try check(bytes) }
    }

    private static func check(_ bytes: UnsafeRawBufferPointer) throws {
        var depth = 0
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= maximumDepth else {
                    throw APIError(
                        .invalid,
                        "too_deep",
                        "JSON may be at most \(maximumDepth) levels deep",
                        field: path(to: index, in: bytes, levels: 1)
                    )
                }
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
            case UInt8(ascii: "\""):
                let (content, flaw) = string(from: index + 1, in: bytes)
                switch flaw {
                case .nul:
                    let field = path(to: index, in: bytes)
                    throw APIError(.invalid, "nul_character", "text may not contain NUL (U+0000)", field: field)
                case .surrogate:
                    let field = path(to: index, in: bytes)
                    throw APIError(.invalid, "lone_surrogate", "text may not contain a lone surrogate", field: field)
                case nil: break
                }
                index = content.upperBound + 1
            default:
                index += 1
            }
        }
    }

    private enum Flaw { case nul, surrogate }

    /// The string's content up to its closing quote (or the end), and the first flaw in it.
    private static func string(from start: Int, in bytes: UnsafeRawBufferPointer) -> (Range<Int>, Flaw?) {
        var index = start
        var flaw: Flaw?
        var awaitsLow = false
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            guard bytes[index] == UInt8(ascii: "\\") else {
                if bytes[index] == 0 { flaw = flaw ?? .nul }
                if awaitsLow { flaw = flaw ?? .surrogate }
                awaitsLow = false
                index += 1
                continue
            }
            guard let unit = escapedUnit(at: index, in: bytes) else {
                if awaitsLow { flaw = flaw ?? .surrogate }
                awaitsLow = false
                index += 2
                continue
            }
            switch unit {
            case 0: flaw = flaw ?? .nul
            case 0xD800...0xDBFF:
                if awaitsLow { flaw = flaw ?? .surrogate }
                awaitsLow = true
            case 0xDC00...0xDFFF:
                if !awaitsLow { flaw = flaw ?? .surrogate }
                awaitsLow = false
            default:
                if awaitsLow { flaw = flaw ?? .surrogate }
                awaitsLow = false
            }
            index += 6
        }
        if awaitsLow { flaw = flaw ?? .surrogate }
        return (start..<min(max(index, start), bytes.count), flaw)
    }

    /// The UTF-16 code unit of a `\uXXXX` at `index`; nil for the other escapes.
    private static func escapedUnit(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt16? {
        guard index + 5 < bytes.count, bytes[index + 1] == UInt8(ascii: "u") else { return nil }
        var unit: UInt16 = 0
        for digit in bytes[(index + 2)...(index + 5)] {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    private static func isFollowedByColon(_ start: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        var index = start
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        return index < bytes.count && bytes[index] == UInt8(ascii: ":")
    }
}

extension JSONGuard {
    /// Where something is: in an object by a name, in an array by a number; neither before the first name.
    private struct Place {
        var name: String?
        var element: Int?
    }

    /// What is at an index, as `address.street` or `lines[2]`; nil for what has no name: the body itself, and its names.
    ///
    /// Read once more from the beginning, since it is asked for only where something is refused.
    private static func path(to end: Int, in bytes: UnsafeRawBufferPointer, levels: Int = maximumDepth) -> String? {
        var places: [Place] = []
        var index = 0
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: "{"): places.append(Place())
            case UInt8(ascii: "["): places.append(Place(element: 0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = places.popLast()
            case UInt8(ascii: ","):
                guard var place = places.popLast() else { break }
                place = Place(element: place.element.map { $0 + 1 })
                places.append(place)
            case UInt8(ascii: "\""):
                let content = string(from: index + 1, in: bytes).0
                if places.last?.element == nil, isFollowedByColon(content.upperBound + 1, in: bytes) {
                    _ = places.popLast()
                    places.append(Place(name: String(decoding: bytes[content], as: UTF8.self)))
                }
                index = content.upperBound
            default: break
            }
            index += 1
        }
        guard places.first?.name != nil else { return nil }
        var path = ""
        for place in places.prefix(levels) {
            if let element = place.element { path += "[\(element)]" }
            if let name = place.name { path += path.isEmpty ? name : ".\(name)" }
        }
        return path
    }
}
