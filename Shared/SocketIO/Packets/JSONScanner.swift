import NIOCore

/// The error of text that is not a valid packet.
struct ParseFault: Error, Hashable {}

/// A scanner that validates JSON (RFC 8259) and locates its values without decoding them.
struct JSONScanner {
    private let bytes: UnsafeRawBufferPointer
    private(set) var index: Int
    private var depth: Int
    /// The number of values that may still follow.
    private var values: Int
    /// The number of attachments that placeholders may refer to; nil if placeholders have no meaning.
    private let attachments: Int?

    init(
        _ bytes: UnsafeRawBufferPointer,
        from index: Int = 0,
        depth: Int = .max,
        values: Int = .max,
        attachments: Int? = nil
    ) {
        self.bytes = bytes
        self.index = index
        self.depth = depth
        self.values = values
        self.attachments = attachments
    }

    var isAtEnd: Bool { index == bytes.count }
    var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func skipSpace() {
        while index < bytes.count, bytes[index] == 0x20 || (0x09...0x0d).contains(bytes[index]) {
            // In the range 09 to 0d, only tab, line feed and carriage return are whitespace in JSON.
            if bytes[index] == 0x0b || bytes[index] == 0x0c { return }
            index += 1
        }
    }

    /// Skips the character if it is next; returns whether it was.
    mutating func accept(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    mutating func skipValue() throws(ParseFault) {
        guard values > 0 else { throw ParseFault() }
        values -= 1
        switch next {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"): try skipObject()
        case UInt8(ascii: "["): try skipArray()
        case UInt8(ascii: "t"): try skip("true")
        case UInt8(ascii: "f"): try skip("false")
        case UInt8(ascii: "n"): try skip("null")
        default: try skipNumber()
        }
    }

    private mutating func skip(_ word: StaticString) throws(ParseFault) {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count else { throw ParseFault() }
        for offset in 0..<word.utf8CodeUnitCount where bytes[index + offset] != word.utf8Start[offset] {
            throw ParseFault()
        }
        index = end
    }

    /// Skips a string; returns whether it contains escapes.
    @discardableResult
    mutating func skipString() throws(ParseFault) -> Bool {
        guard accept("\"") else { throw ParseFault() }
        var hasEscapes = false
        while index < bytes.count {
            skipPlain()
            guard let byte = next else { break }
            index += 1
            if byte == UInt8(ascii: "\"") { return hasEscapes }
            if byte < 0x20 { throw ParseFault() }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try skipEscape()
            }
        }
        throw ParseFault()
    }

    /// Skips ordinary characters, eight bytes at a time: an attachment in base64 has millions of them.
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quotes = word ^ (ones &* 0x22)
            let slashes = word ^ (ones &* 0x5C)
            // The highest bit of a byte is set if the byte is a quote, a backslash or a control character.
            let found =
                ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | ((word &- ones &* 0x20) & ~word)
            if found & (ones &* 0x80) != 0 { return }
            index += 8
        }
    }

    private mutating func skipEscape() throws(ParseFault) {
        guard let byte = next else { throw ParseFault() }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            guard index + 4 <= bytes.count else { throw ParseFault() }
            for offset in 0..<4 where hexadecimal(bytes[index + offset]) == nil { throw ParseFault() }
            index += 4
        default:
            throw ParseFault()
        }
    }

    private mutating func skipNumber() throws(ParseFault) {
        _ = accept("-")
        if !accept("0") { try skipDigits() }
        if accept(".") { try skipDigits() }
        if accept("e") || accept("E") {
            if !accept("+") { _ = accept("-") }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(ParseFault) {
        let start = index
        while let byte = next, isDigit(byte) { index += 1 }
        if index == start { throw ParseFault() }
    }

    private mutating func skipArray() throws(ParseFault) {
        try enter()
        index += 1
        skipSpace()
        if !accept("]") {
            repeat {
                skipSpace()
                try skipValue()
                skipSpace()
            } while accept(",")
            guard accept("]") else { throw ParseFault() }
        }
        depth += 1
    }

    private mutating func skipObject() throws(ParseFault) {
        try enter()
        index += 1
        var placeholder = Placeholder()
        skipSpace()
        if !accept("}") {
            repeat {
                skipSpace()
                let key = index
                try skipString()
                let keyEnd = index
                skipSpace()
                guard accept(":") else { throw ParseFault() }
                skipSpace()
                let value = index
                try skipValue()
                if attachments != nil { placeholder.note(bytes[key..<keyEnd], bytes[value..<index]) }
                skipSpace()
            } while accept(",")
            guard accept("}") else { throw ParseFault() }
        }
        if let attachments, placeholder.isPlaceholder, !placeholder.refers(toOneOf: attachments) { throw ParseFault() }
        depth += 1
    }

    private mutating func enter() throws(ParseFault) {
        guard depth > 0 else { throw ParseFault() }
        depth -= 1
    }
}

/// An object that may represent an attachment: `{"_placeholder":true,"num":0}`.
private struct Placeholder {
    private(set) var isPlaceholder = false
    private var number: Int?

    mutating func note(_ key: Slice<UnsafeRawBufferPointer>, _ value: Slice<UnsafeRawBufferPointer>) {
        if key.elementsEqual("\"_placeholder\"".utf8) {
            isPlaceholder = value.elementsEqual("true".utf8)
        } else if key.elementsEqual("\"num\"".utf8) {
            // A longer value cannot be an attachment number; decoding it could copy the whole packet.
            number = value.count <= 20 ? Int(String(decoding: value, as: UTF8.self)) : nil
        }
    }

    func refers(toOneOf count: Int) -> Bool {
        number.map { 0 <= $0 && $0 < count } ?? false
    }
}

func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0") <= byte && byte <= UInt8(ascii: "9") }

func hexadecimal(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}

// MARK: JSON that was validated before

extension JSONScanner {
    /// Returns the number of comma-separated values.
    static func count(_ json: ByteBuffer) -> Int {
        var count = 0
        eachElement(json) { _ in
            count += 1
            return true
        }
        return count
    }

    /// Returns the comma-separated value at an index, or nil after the last.
    static func element(_ index: Int, of json: ByteBuffer) -> ByteBuffer? {
        var found: ByteBuffer?
        var current = 0
        eachElement(json) { range in
            if current == index { found = json.getSlice(at: json.readerIndex + range.lowerBound, length: range.count) }
            current += 1
            return found == nil
        }
        return found
    }

    /// Calls `body` for each value until it returns false or the JSON is malformed.
    private static func eachElement(_ json: ByteBuffer, _ body: (Range<Int>) -> Bool) {
        json.withUnsafeReadableBytes { bytes in
            var scanner = JSONScanner(bytes)
            repeat {
                scanner.skipSpace()
                let start = scanner.index
                do { try scanner.skipValue() } catch { return }
                guard body(start..<scanner.index) else { return }
                scanner.skipSpace()
            } while scanner.accept(",")
        }
    }
}
