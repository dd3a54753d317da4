/// Reads JSON as RFC 8259 has it, at most 64 levels deep.
///
/// For what is read as values of unknown shape, and often: Foundation's decoder takes a hundred times as long to make
/// those.
package struct JSONText {
    /// The text is not JSON.
    package struct Flaw: Error {
        /// Where, in bytes.
        package let place: Int
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let isRepairing: Bool
    private var place = 0
    private var depth = 0

    /// The value that is all of the text.
    ///
    /// With `repairing`, what is no Unicode becomes U+FFFD instead of a flaw: bytes that are not UTF-8, surrogates
    /// without their other half (as services make them that cut texts off), and NUL, which PostgreSQL cannot keep.
    package static func parse(_ bytes: some Sequence<UInt8>, repairing: Bool = false) throws(Flaw) -> JSONValue {
        let result = bytes.withContiguousStorageIfAvailable { parse(pointer: $0, repairing) }
        return try (result ?? Array(bytes).withUnsafeBufferPointer { parse(pointer: $0, repairing) }).get()
    }

    private static func parse(pointer: UnsafeBufferPointer<UInt8>, _ repairing: Bool) -> Result<JSONValue, Flaw> {
        var text = JSONText(bytes: pointer, isRepairing: repairing)
        do throws(Flaw) {
            let value = try text.value()
            text.skipSpace()
            guard text.place == pointer.count else { throw Flaw(place: text.place) }
            return .success(value)
        } catch {
            return .failure(error)
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, isRepairing: Bool) {
        self.bytes = bytes
        self.isRepairing = isRepairing
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func take(_ byte: UInt8) throws(Flaw) {
        guard next == byte else { throw Flaw(place: place) }
        place += 1
    }

    private mutating func value() throws(Flaw) -> JSONValue {
        skipSpace()
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

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Flaw) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount { try take((word.utf8Start + offset).pointee) }
        return value
    }

    private mutating func enter() throws(Flaw) {
        depth += 1
        guard depth <= JSONGuard.maximumDepth else { throw Flaw(place: place) }
        place += 1
        skipSpace()
    }

    private mutating func object() throws(Flaw) -> JSONValue {
        try enter()
        var fields: [String: JSONValue] = [:]
        if next != UInt8(ascii: "}") {
            // Most have several, and a table that grows is hashed anew each time.
            fields.reserveCapacity(12)
            while true {
                skipSpace()
                let name = try string()
                skipSpace()
                try take(UInt8(ascii: ":"))
                fields[name] = try value()
                skipSpace()
                guard next == UInt8(ascii: ",") else { break }
                place += 1
            }
        }
        try take(UInt8(ascii: "}"))
        depth -= 1
        return .object(fields)
    }

    private mutating func array() throws(Flaw) -> JSONValue {
        try enter()
        var values: [JSONValue] = []
        if next != UInt8(ascii: "]") {
            while true {
                values.append(try value())
                skipSpace()
                guard next == UInt8(ascii: ",") else { break }
                place += 1
            }
        }
        try take(UInt8(ascii: "]"))
        depth -= 1
        return .array(values)
    }

    private mutating func number() throws(Flaw) -> JSONValue {
        let start = place
        if next == UInt8(ascii: "-") { place += 1 }
        // No zero before another digit.
        if next == UInt8(ascii: "0") { place += 1 } else { try digits() }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isWhole, let whole = Int64(text) { return .integer(whole) }
        guard let number = Double(text), number.isFinite else { throw Flaw(place: start) }
        return .number(number)
    }

    private mutating func digits() throws(Flaw) {
        let start = place
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { place += 1 }
        guard place > start else { throw Flaw(place: place) }
    }
}

extension JSONText {
    private mutating func string() throws(Flaw) -> String {
        try take(UInt8(ascii: "\""))
        let start = place
        var all: UInt8 = 0
        // Most have nothing escaped, and are taken as they are.
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
            all |= byte
            place += 1
        }
        if next == UInt8(ascii: "\"") {
            let whole = UnsafeBufferPointer(rebasing: bytes[start..<place])
            place += 1
            // ASCII needs no check, which takes longer than all else here.
            return all < 0x80 ? String(decoding: whole, as: UTF8.self) : try utf8(whole, at: start)
        }
        var unescaped = Array(bytes[start..<place])
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Flaw(place: place) }
            place += 1
            if byte == UInt8(ascii: "\\") {
                unescaped += String(try escaped()).utf8
            } else {
                unescaped.append(byte)
            }
        }
        try take(UInt8(ascii: "\""))
        return try utf8(unescaped[...], at: start)
    }

    private func utf8(_ bytes: some Sequence<UInt8>, at start: Int) throws(Flaw) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        guard isRepairing else { throw Flaw(place: start) }
        return String(decoding: Array(bytes), as: UTF8.self)
    }

    /// What stands behind a backslash.
    private mutating func escaped() throws(Flaw) -> Unicode.Scalar {
        guard let letter = next else { throw Flaw(place: place) }
        place += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw Flaw(place: place - 1)
        }
    }

    /// Four hex digits, or twice four with `\u` between them where they are a surrogate pair.
    private mutating func scalar() throws(Flaw) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return isRepairing && first == 0 ? Self.replacement : scalar }
        let behind = place
        do throws(Flaw) {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            let second = try unit()
            guard 0xD800...0xDBFF ~= first, 0xDC00...0xDFFF ~= second,
                let scalar = Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw Flaw(place: place) }
            return scalar
        } catch {
            guard isRepairing else { throw error }
            // What follows is read on its own.
            place = behind
            return Self.replacement
        }
    }

    private static let replacement: Unicode.Scalar = "\u{FFFD}"

    private mutating func unit() throws(Flaw) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw Flaw(place: place)
            }
            unit = unit << 4 | UInt32(digit)
            place += 1
        }
        return unit
    }
}

extension JSONText {
    /// A string as JSON has it.
    package static func quoted(_ text: String) -> String {
        // A string cannot fail to encode.
        (try? JSONValue.string(text).compact()).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
