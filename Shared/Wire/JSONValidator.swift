package import Foundation

/// Refuses JSON that is too large, too deep or has too many values, and NUL and lone surrogates in its strings.
///
/// PostgreSQL cannot store U+0000. One pass over the bytes, before anything is built; whether the text is well-formed
/// is left to `JSONParser`.
package enum JSONValidator {
    package static let maximumDepth = 64

    /// - Throws: `body_too_large`, `too_deep`, `too_many_values`, `nul_character`, `lone_surrogate`, and
    ///   `<field>_too_long` for a field that `limits` names.
    package static func check(_ body: Data, limits: JSONLimits = .free) throws {
        try body.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in try check(bytes, limits: limits) }
    }

    static func check(_ bytes: UnsafeRawBufferPointer, limits: JSONLimits) throws {
        guard bytes.count <= limits.bytes else { throw APIError.tooLarge(limit: limits.bytes) }
        var scan = JSONScan(bytes, limits: limits)
        try scan.run()
    }
}

extension APIError {
    /// A body of more bytes than its route takes.
    package static func tooLarge(limit: Int) -> APIError {
        APIError(.tooLarge, "body_too_large", "the body is too large; \(limit) bytes are allowed")
    }
}

/// One pass over a text, which need not be well-formed.
private struct JSONScan {
    private let bytes: UnsafeRawBufferPointer
    private let limits: JSONLimits
    private let free: [[UInt8]]
    private let measured: [(name: [UInt8], limit: Int)]
    private var index = 0
    private var depth = 0
    private var values = 1
    /// The level of the object that has the free field which the scan is in.
    private var freeLevel: Int?
    /// The field whose size is being counted, and the level of its object.
    private var field: (name: [UInt8], limit: Int, level: Int)?
    /// Of that field, the least number of bytes that its compact form can have.
    private var weight = 0

    init(_ bytes: UnsafeRawBufferPointer, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        free = JSONLimits.freeFields.map { Array($0.utf8) }
        measured = limits.fields.map { (Array($0.key.utf8), $0.value) }
    }

    mutating func run() throws {
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): try enter()
            case UInt8(ascii: "}"), UInt8(ascii: "]"): try leave()
            case UInt8(ascii: ","):
                if field?.level == depth { field = nil }
                if freeLevel == depth { freeLevel = nil }
                try count()
            case UInt8(ascii: ":"): try weigh(1)
            case UInt8(ascii: "\""): try string()
            default: break
            }
            index += 1
        }
    }

    private mutating func enter() throws {
        depth += 1
        let allowed = freeLevel == nil ? limits.depth : limits.freeDepth
        guard depth <= allowed else {
            throw APIError(
                .invalid,
                "too_deep",
                "JSON may be at most \(allowed) levels deep",
                field: JSONPath.path(to: index, in: bytes, levels: 1)
            )
        }
        try count()
    }

    private mutating func leave() throws {
        if field?.level == depth { field = nil }
        if freeLevel == depth { freeLevel = nil }
        depth -= 1
        try weigh(1)
    }

    /// Counts one more value: the first of an array or object, which counts as two where it is empty, or one after a comma.
    private mutating func count() throws {
        values += 1
        guard values <= limits.values else {
            throw APIError(
                .invalid,
                "too_many_values",
                "JSON may have at most \(limits.values) values",
                field: JSONPath.path(to: index, in: bytes, levels: 1)
            )
        }
        try weigh(1)
    }

    private mutating func weigh(_ more: Int) throws {
        guard let field else { return }
        weight += more
        guard weight <= field.limit else {
            let name = String(decoding: field.name, as: UTF8.self)
            throw APIError.fieldTooLong(name, limit: field.limit)
        }
    }

    private mutating func string() throws {
        let string = JSONStringScan(from: index + 1, in: bytes)
        switch string.defect {
        case .nul:
            let field = JSONPath.path(to: index, in: bytes)
            throw APIError(.invalid, "nul_character", "text may not contain NUL (U+0000)", field: field)
        case .surrogate:
            let field = JSONPath.path(to: index, in: bytes)
            throw APIError(.invalid, "lone_surrogate", "text may not contain a lone surrogate", field: field)
        case nil: break
        }
        index = string.content.upperBound
        try weigh(string.least + 2)
        guard freeLevel == nil || field == nil, JSONPath.isName(endingAt: index + 1, in: bytes) else { return }
        let name = UnsafeRawBufferPointer(rebasing: bytes[string.content])
        if freeLevel == nil, free.contains(where: { $0.elementsEqual(name) }) { freeLevel = depth }
        if field == nil, let found = measured.first(where: { $0.name.elementsEqual(name) }) {
            field = (found.name, found.limit, depth)
            // The colon behind the name is not the field's.
            weight = -1
        }
    }
}

extension APIError {
    /// A field of any JSON whose compact form has too many bytes.
    package static func fieldTooLong(_ field: String, limit: Int) -> APIError {
        APIError(.tooLarge, "\(field)_too_long", "\"\(field)\" may have \(limit) bytes of compact JSON", field: field)
    }
}

/// A string of a text that need not be well-formed: its end, and the first flaw in it.
struct JSONStringScan {
    enum Defect { case nul, surrogate }

    /// What is between the quotes, or up to the end of the text.
    private(set) var content: Range<Int>
    private(set) var defect: Defect?
    /// The least number of bytes that the content can be written with.
    private(set) var least = 0
    private var awaitsLow = false

    init(from start: Int, in bytes: UnsafeRawBufferPointer) {
        content = start..<start
        var index = start
        while index < bytes.count {
            let plain = JSONBytes.plain(from: index, in: bytes)
            if plain > index {
                least += plain - index
                endPair()
                index = plain
                continue
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { break }
            least += 1
            if byte != UInt8(ascii: "\\") {
                if byte == 0 { defect = defect ?? .nul }
                endPair()
                index += 1
            } else if let unit = JSONBytes.unit(at: index + 2, in: bytes), bytes[index + 1] == UInt8(ascii: "u") {
                take(unit)
                index += 6
            } else {
                endPair()
                index += 2
            }
        }
        endPair()
        content = start..<min(index, bytes.count)
    }

    private mutating func endPair() {
        if awaitsLow { defect = defect ?? .surrogate }
        awaitsLow = false
    }

    private mutating func take(_ unit: UInt16) {
        switch unit {
        case 0xD800...0xDBFF:
            endPair()
            awaitsLow = true
        case 0xDC00...0xDFFF:
            if !awaitsLow { defect = defect ?? .surrogate }
            awaitsLow = false
        default:
            endPair()
            if unit == 0 { defect = defect ?? .nul }
        }
    }
}

/// What both passes over a text need.
enum JSONBytes {
    /// The first place from `start` on with a quote, a backslash or a control character.
    static func plain(from start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        var index = start
        // Eight bytes at a time: a byte is below 0x20, or equal to the quote or the backslash, where a subtraction
        // borrows from its highest bit.
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quotes = word ^ (ones &* 0x22)
            let slashes = word ^ (ones &* 0x5C)
            let controls = (word &- ones &* 0x20) & ~word
            let found = ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | controls
            if found & (ones &* 0x80) != 0 { break }
            index += 8
        }
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] != 0x22, bytes[index] != 0x5C { index += 1 }
        return index
    }

    static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index + 8 <= bytes.count {
            guard bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else {
                return false
            }
            index += 8
        }
        return bytes[index...].allSatisfy { $0 < 0x80 }
    }

    /// Four hex digits; nil where there are none.
    static func unit(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt16? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt16 = 0
        for place in index..<(index + 4) {
            guard let digit = hexadecimal(bytes[place]) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}

/// The place of a value in a text, for errors.
enum JSONPath {
    /// How many bytes of a path an error repeats: a name is the client's, and may be as long as the body.
    private static let longest = 255

    /// Where something is: in an object by a name, in an array by a number; neither before the first name.
    private struct PathLevel {
        var name: Range<Int>?
        var element: Int?
    }

    /// Whether a string that ends there is a name: a colon is behind it.
    static func isName(endingAt end: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        var index = end
        while index < bytes.count, JSONBytes.isSpace(bytes[index]) { index += 1 }
        return index < bytes.count && bytes[index] == UInt8(ascii: ":")
    }

    /// What is at an index, as `address.street` or `lines[2]`; nil for what has no name: the body itself, and its names.
    ///
    /// Read once more from the beginning, since it is asked for only where something is refused.
    static func path(
        to end: Int,
        in bytes: UnsafeRawBufferPointer,
        levels: Int = JSONValidator.maximumDepth
    ) -> String? {
        var places: [PathLevel] = []
        var index = 0
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: "{"): places.append(PathLevel())
            case UInt8(ascii: "["): places.append(PathLevel(element: 0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = places.popLast()
            case UInt8(ascii: ","):
                guard let place = places.popLast() else { break }
                places.append(PathLevel(element: place.element.map { $0 + 1 }))
            case UInt8(ascii: "\""):
                let content = JSONStringScan(from: index + 1, in: bytes).content
                if !places.isEmpty, places[places.count - 1].element == nil,
                    isName(endingAt: content.upperBound + 1, in: bytes)
                {
                    places[places.count - 1].name = content
                }
                index = content.upperBound
            default: break
            }
            index += 1
        }
        guard places.first?.name != nil else { return nil }
        var path = ""
        for place in places.prefix(levels) where path.utf8.count <= longest {
            if let element = place.element { path += "[\(element)]" }
            if let name = place.name {
                let text = String(decoding: bytes[name].prefix(longest), as: UTF8.self)
                path += path.isEmpty ? text : ".\(text)"
            }
        }
        return path
    }
}
