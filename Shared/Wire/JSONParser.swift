/// The JSON parser of the suite (RFC 8259), with time and memory linear in the length of the text.
///
/// `WireJSON` first checks a client's text against its limits.
package struct JSONParser {
    /// The reason why a text cannot be parsed.
    package struct SyntaxError: Error {
        package enum Reason: Sendable { case malformed, marks }

        /// The offset in bytes.
        package let offset: Int
        package var reason = Reason.malformed
    }

    /// The maximum number of consecutive combining marks in a string.
    ///
    /// Hashing and comparing a `String` takes quadratic time in this number (measured: 1.2 s for 100 kB of marks).
    package static let mostMarks = 128

    private let bytes: UnsafeBufferPointer<UInt8>
    private let isRepairing: Bool
    private let maximumDepth: Int
    private let maximumMarks: Int
    private var offset = 0
    private var depth = 0
    private var valuesLeft: Int

    /// The maximum number of values in a text.
    ///
    /// A page of a network's posts has a few thousand values; each uses up to 150 bytes of memory.
    package static let mostValues = 100_000

    /// The maximum length of a number; more digits do not change a `Double` and are slow to parse.
    private static let longestNumber = 512

    /// Parses a complete text.
    ///
    /// With `repairing`, invalid Unicode is replaced by U+FFFD: invalid UTF-8, lone surrogates (from services that
    /// truncate texts), and NUL, which PostgreSQL cannot store.
    ///
    /// - Parameters:
    ///   - bytes: the text.
    ///   - repairing: whether invalid Unicode is replaced instead of rejected.
    ///   - depth: the maximum nesting depth of arrays and objects.
    ///   - values: the maximum number of values.
    ///   - marks: the maximum number of consecutive combining marks in a string.
    /// - Returns: the value.
    /// - Throws: a `SyntaxError` if the text is not JSON or exceeds a limit.
    package static func parse(
        _ bytes: some Sequence<UInt8>,
        repairing: Bool = false,
        depth: Int = JSONValidator.maximumDepth,
        values: Int = mostValues,
        marks: Int = mostMarks
    ) throws(SyntaxError) -> JSONValue {
        func parse(_ pointer: UnsafeBufferPointer<UInt8>) -> Result<JSONValue, SyntaxError> {
            JSONParser(bytes: pointer, isRepairing: repairing, depth: depth, values: values, marks: marks).parsed()
        }
        return try (bytes.withContiguousStorageIfAvailable(parse) ?? Array(bytes).withUnsafeBufferPointer(parse)).get()
    }

    private func parsed() -> Result<JSONValue, SyntaxError> {
        var text = self
        do throws(SyntaxError) {
            let value = try text.value()
            text.skipSpace()
            guard text.offset == bytes.count else { throw SyntaxError(offset: text.offset) }
            return .success(value)
        } catch {
            return .failure(error)
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, isRepairing: Bool, depth: Int, values: Int, marks: Int) {
        self.bytes = bytes
        self.isRepairing = isRepairing
        maximumDepth = depth
        maximumMarks = marks
        valuesLeft = values
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, JSONBytes.isSpace(byte) { offset += 1 }
    }

    private mutating func expect(_ byte: UInt8) throws(SyntaxError) {
        guard next == byte else { throw SyntaxError(offset: offset) }
        offset += 1
    }

    private mutating func value() throws(SyntaxError) -> JSONValue {
        skipSpace()
        guard valuesLeft > 0 else { throw SyntaxError(offset: offset) }
        valuesLeft -= 1
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(SyntaxError) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount { try expect((word.utf8Start + offset).pointee) }
        return value
    }

    private mutating func enter() throws(SyntaxError) {
        depth += 1
        guard depth <= maximumDepth else { throw SyntaxError(offset: offset) }
        offset += 1
        skipSpace()
    }

    private mutating func object() throws(SyntaxError) -> JSONValue {
        try enter()
        var fields: [String: JSONValue] = [:]
        if next != UInt8(ascii: "}") {
            while true {
                skipSpace()
                let name = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
                fields[name] = try value()
                skipSpace()
                guard next == UInt8(ascii: ",") else { break }
                offset += 1
            }
        }
        try expect(UInt8(ascii: "}"))
        depth -= 1
        return .object(fields)
    }

    private mutating func array() throws(SyntaxError) -> JSONValue {
        try enter()
        var values: [JSONValue] = []
        if next != UInt8(ascii: "]") {
            while true {
                values.append(try value())
                skipSpace()
                guard next == UInt8(ascii: ",") else { break }
                offset += 1
            }
        }
        try expect(UInt8(ascii: "]"))
        depth -= 1
        return .array(values)
    }

    private mutating func number() throws(SyntaxError) -> JSONValue {
        let start = offset
        if next == UInt8(ascii: "-") { offset += 1 }
        // A number has no leading zeros.
        if next == UInt8(ascii: "0") { offset += 1 } else { try digits() }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            offset += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            try digits()
        }
        guard offset - start <= Self.longestNumber else { throw SyntaxError(offset: start) }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let whole = Int64(text) { return .integer(whole) }
        guard let number = Double(text), number.isFinite else { throw SyntaxError(offset: start) }
        return .number(number)
    }

    private mutating func digits() throws(SyntaxError) {
        let start = offset
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { offset += 1 }
        guard offset > start else { throw SyntaxError(offset: offset) }
    }
}

extension JSONParser {
    private mutating func string() throws(SyntaxError) -> String {
        try expect(UInt8(ascii: "\""))
        let start = offset
        skipPlain()
        if next == UInt8(ascii: "\"") {
            let whole = UnsafeBufferPointer(rebasing: bytes[start..<offset])
            offset += 1
            // ASCII needs no UTF-8 validation, which would take most of the time.
            let isASCII = JSONBytes.isASCII(UnsafeRawBufferPointer(whole))
            return isASCII ? String(decoding: whole, as: UTF8.self) : try utf8(whole, at: start)
        }
        var unescaped = Array(bytes[start..<offset])
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\") else { throw SyntaxError(offset: offset) }
            offset += 1
            let scalar = try escaped()
            unescaped += scalar.utf8
            let run = offset
            skipPlain()
            unescaped += bytes[run..<offset]
        }
        try expect(UInt8(ascii: "\""))
        return try utf8(unescaped, at: start)
    }

    /// Advances to the next quote, backslash or control character.
    private mutating func skipPlain() {
        offset = JSONBytes.plain(from: offset, in: UnsafeRawBufferPointer(bytes))
    }

    private func utf8(_ bytes: some Sequence<UInt8>, at start: Int) throws(SyntaxError) -> String {
        let valid = String(validating: bytes, as: UTF8.self)
        guard valid != nil || isRepairing else { throw SyntaxError(offset: start) }
        let text = valid ?? String(decoding: Array(bytes), as: UTF8.self)
        guard text.hasMarks(moreThan: maximumMarks) else { return text }
        guard isRepairing else { throw SyntaxError(offset: start, reason: .marks) }
        var marks = 0
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            marks = scalar.isCombiningMark ? marks + 1 : 0
            if marks <= maximumMarks { result.append(scalar) }
        }
        return String(result)
    }

    /// Parses the part of an escape sequence after the backslash.
    private mutating func escaped() throws(SyntaxError) -> Unicode.Scalar {
        guard let letter = next else { throw SyntaxError(offset: offset) }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw SyntaxError(offset: offset - 1)
        }
    }

    /// Parses four hex digits, or a surrogate pair of two such groups with `\u` in between.
    private mutating func scalar() throws(SyntaxError) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return isRepairing && first == 0 ? Self.replacement : scalar }
        let end = offset
        do throws(SyntaxError) {
            try expect(UInt8(ascii: "\\"))
            try expect(UInt8(ascii: "u"))
            let second = try unit()
            guard 0xD800...0xDBFF ~= first, 0xDC00...0xDFFF ~= second,
                let scalar = Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw SyntaxError(offset: offset) }
            return scalar
        } catch {
            guard isRepairing else { throw error }
            // The following characters are parsed on their own.
            offset = end
            return Self.replacement
        }
    }

    private static let replacement: Unicode.Scalar = "\u{FFFD}"

    private mutating func unit() throws(SyntaxError) -> UInt32 {
        guard let unit = JSONBytes.unit(at: offset, in: UnsafeRawBufferPointer(bytes)) else {
            throw SyntaxError(offset: offset)
        }
        offset += 4
        return UInt32(unit)
    }
}

extension StringProtocol {
    /// Whether the text has more consecutive combining marks than a JSON string may have.
    package var hasTooManyMarks: Bool { hasMarks(moreThan: JSONParser.mostMarks) }

    fileprivate func hasMarks(moreThan limit: Int) -> Bool {
        // A mark has at least two bytes.
        guard utf8.count / 2 > limit else { return false }
        // Every header field is checked here. The compiler vectorizes this loop, which finds ASCII texts.
        if utf8.withContiguousStorageIfAvailable({ $0.reduce(0, |) < 0x80 }) == true { return false }
        var marks = 0
        for scalar in unicodeScalars {
            marks = scalar.isCombiningMark ? marks + 1 : 0
            if marks > limit { return true }
        }
        return false
    }
}

extension String {
    /// Whether the text consists of ASCII characters from space to tilde.
    package var isPrintableASCII: Bool {
        var text = self
        return text.withUTF8 { bytes in
            // Without an early exit, so that the compiler vectorizes the loop.
            bytes.reduce(0) { invalid, byte in invalid | (byte &- 0x20 < 0x5F ? 0 : 1) } as UInt8 == 0
        }
    }
}

extension APIError {
    /// Checks text from other sources than JSON, such as a form's field, by the rules for JSON strings.
    ///
    /// - Parameters:
    ///   - text: the decoded text.
    ///   - field: the name of the field or parameter.
    /// - Throws: `nul_character` or `too_many_combining_marks`.
    package static func check(_ text: some StringProtocol, of field: String?) throws {
        guard !text.utf8.contains(0) else {
            throw APIError(.invalid, "nul_character", "text may not contain NUL (U+0000)", field: field)
        }
        guard !text.hasTooManyMarks else { throw APIError.tooManyMarks(field: field) }
    }

    static func tooManyMarks(field: String? = nil) -> APIError {
        APIError(
            .invalid,
            "too_many_combining_marks",
            "text may have at most \(JSONParser.mostMarks) combining marks in a row",
            field: field
        )
    }
}

extension Unicode.Scalar {
    /// Whether canonical ordering (Unicode 3.11) can move the character; all characters that it moves are sorted
    /// together.
    fileprivate var isCombiningMark: Bool {
        guard value >= 0x300 else { return false }
        // These three characters are starters but decompose to marks.
        if value == 0xF73 || value == 0xF75 || value == 0xF81 { return true }
        return properties.canonicalCombiningClass != .notReordered
    }
}

extension JSONParser {
    /// Returns a text as a JSON string.
    package static func quoted(_ text: String) -> String {
        // Encoding a string never fails.
        (try? JSONValue.string(text).compact()).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
