import NIOCore

/// Decoding and encoding of JSON strings.
enum JSONStringCoder {
    /// Decodes a well-formed quoted string.
    static func decode(_ bytes: Slice<UnsafeRawBufferPointer>, hasEscapes: Bool) -> String {
        let inner = bytes.dropFirst().dropLast()
        guard hasEscapes else { return String(decoding: inner, as: UTF8.self) }
        var units: [UInt16] = []
        var text = ""
        var rest = inner
        // Escapes are UTF-16 units, and a surrogate pair has two: they are collected before decoding.
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let escape = rest.popFirst() {
                units.append(unit(escape, &rest))
                continue
            }
            text += String(decoding: units, as: UTF16.self)
            units.removeAll()
            let run = rest.prefix { $0 != UInt8(ascii: "\\") }
            text += String(decoding: [byte] + Array(run), as: UTF8.self)
            rest = rest[run.endIndex...]
        }
        return text + String(decoding: units, as: UTF16.self)
    }

    private static func unit(_ escape: UInt8, _ rest: inout Slice<UnsafeRawBufferPointer>) -> UInt16 {
        switch escape {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0c
        case UInt8(ascii: "n"): return 0x0a
        case UInt8(ascii: "r"): return 0x0d
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"):
            let digits = rest.prefix(4)
            rest = rest.dropFirst(4)
            return digits.reduce(0) { $0 << 4 | (hexadecimal($1) ?? 0) }
        default: return UInt16(escape)
        }
    }

    /// Writes a quoted string.
    static func write(_ text: String, into buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt8(ascii: "\""))
        if text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            for byte in text.utf8 { writeEscaped(byte, into: &buffer) }
        } else {
            buffer.writeString(text)
        }
        buffer.writeInteger(UInt8(ascii: "\""))
    }

    private static func writeEscaped(_ byte: UInt8, into buffer: inout ByteBuffer) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            buffer.writeMultipleIntegers(UInt8(ascii: "\\"), byte)
        case ..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            buffer.writeStaticString("\\u00")
            buffer.writeMultipleIntegers(digits[Int(byte >> 4)], digits[Int(byte & 15)])
        default:
            buffer.writeInteger(byte)
        }
    }
}
