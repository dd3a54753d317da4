package import Foundation

/// The validation of JSON before it is decoded: size, depth, number of values, and NUL or lone surrogates in strings.
///
/// PostgreSQL cannot store U+0000. The validation is one pass over the bytes; `JSONParser` checks whether the text is
/// well-formed.
package enum JSONValidator {
    package static let maximumDepth = 64

    /// Validates a text.
    ///
    /// - Parameters:
    ///   - body: the text.
    ///   - limits: the limits.
    /// - Throws: `body_too_large`, `too_deep`, `too_many_values`, `nul_character`, `lone_surrogate`, or
    ///   `<field>_too_long` for a field that `limits` contains.
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
    /// Returns the error for a body that exceeds the limit of its route.
    package static func tooLarge(limit: Int) -> APIError {
        APIError(.tooLarge, "body_too_large", "the body is too large; at most \(limit) bytes are allowed")
    }
}

/// One pass over a text that may be malformed.
private struct JSONScan {
    private let bytes: UnsafeRawBufferPointer
    private let limits: JSONLimits
    private let free: [[UInt8]]
    private let measured: [(name: [UInt8], limit: Int)]
    private var index = 0
    private var depth = 0
    private var values = 1
    /// The depth of the object with the free field that the scan is in.
    private var freeLevel: Int?
    /// The field whose size is counted, and the depth of its object.
    private var field: (name: [UInt8], limit: Int, level: Int)?
    /// The minimum size of the field's compact JSON so far.
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

    /// Counts one more value.
    ///
    /// The first value of an array or object counts; so does each value after a comma. An empty array or object counts
    /// as two values.
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
            // The colon after the name does not belong to the field's value.
            weight = -1
        }
    }
}

extension APIError {
    /// Returns the error for a field whose compact JSON is too large.
    package static func fieldTooLong(_ field: String, limit: Int) -> APIError {
        APIError(
            .tooLarge,
            "\(field)_too_long",
            "\"\(field)\" may have at most \(limit) bytes of compact JSON",
            field: field
        )
    }
}

/// The scan of a string in a text that may be malformed: its end and its first defect.
struct JSONStringScan {
    enum Defect { case nul, surrogate }

    /// The range between the quotes, or up to the end of the text.
    private(set) var content: Range<Int>
    private(set) var defect: Defect?
    /// The minimum number of bytes in which the content can be written.
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
                process(unit)
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

    private mutating func process(_ unit: UInt16) {
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

/// Byte-level functions that the validator and the parser share.
enum JSONBytes {
    /// Returns the first index from `start` with a quote, a backslash or a control character.
    static func plain(from start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        var index = start
        // Eight bytes at a time. A subtraction borrows from a byte's highest bit if the byte is below 0x20, or equal to
        // the quote or the backslash.
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

    /// Parses four hex digits; returns nil if there are none.
    static func unit(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt16? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt16 = 0
        for position in index..<(index + 4) {
            guard let digit = hexadecimal(bytes[position]) else { return nil }
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

/// The path of a value in a text, for error messages.
enum JSONPath {
    /// The maximum length of a path in an error; names come from the client and may be as long as the body.
    private static let longest = 255

    /// A position in an object by name, or in an array by index; neither before the first name.
    private struct PathLevel {
        var name: Range<Int>?
        var element: Int?
    }

    /// Returns whether a string that ends at `end` is a name, which a colon follows.
    static func isName(endingAt end: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        var index = end
        while index < bytes.count, JSONBytes.isSpace(bytes[index]) { index += 1 }
        return index < bytes.count && bytes[index] == UInt8(ascii: ":")
    }

    /// Returns the path of the value at an index, such as `address.street` or `lines[2]`; nil for the body itself and
    /// for names.
    ///
    /// The text is scanned again from the start, because paths are needed only for errors.
    ///
    /// - Parameters:
    ///   - end: the index of the value.
    ///   - bytes: the text.
    ///   - levels: the maximum number of path levels.
    /// - Returns: the path, or nil.
    static func path(
        to end: Int,
        in bytes: UnsafeRawBufferPointer,
        levels: Int = JSONValidator.maximumDepth
    ) -> String? {
        var stack: [PathLevel] = []
        var index = 0
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: "{"): stack.append(PathLevel())
            case UInt8(ascii: "["): stack.append(PathLevel(element: 0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = stack.popLast()
            case UInt8(ascii: ","):
                guard let level = stack.popLast() else { break }
                stack.append(PathLevel(element: level.element.map { $0 + 1 }))
            case UInt8(ascii: "\""):
                let content = JSONStringScan(from: index + 1, in: bytes).content
                if !stack.isEmpty, stack[stack.count - 1].element == nil,
                    isName(endingAt: content.upperBound + 1, in: bytes)
                {
                    stack[stack.count - 1].name = content
                }
                index = content.upperBound
            default: break
            }
            index += 1
        }
        guard stack.first?.name != nil else { return nil }
        var path = ""
        for level in stack.prefix(levels) where path.utf8.count <= longest {
            if let element = level.element { path += "[\(element)]" }
            if let name = level.name {
                let text = String(decoding: bytes[name].prefix(longest), as: UTF8.self)
                path += path.isEmpty ? text : ".\(text)"
            }
        }
        return path
    }
}
