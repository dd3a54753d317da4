public import Foundation

/// A JSON value as text, which reaches the device unchanged.
///
/// Decoding and encoding again would round long numbers.
public struct EncodedJSON: Hashable, Sendable, CustomStringConvertible {
    /// The JSON text.
    public let text: String

    /// The JSON text.
    public var description: String { text }

    /// Creates a value from JSON text; returns nil if the text is not exactly one JSON value.
    public init?(_ text: String) {
        guard (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil else {
            return nil
        }
        self.text = text
    }

    /// Encodes a value, with sorted keys.
    ///
    /// - Parameter value: the value to encode.
    /// - Throws: the error of `JSONEncoder`.
    public init(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private init(checked text: String) {
        self.text = text
    }

    /// Returns a JSON string.
    public static func string(_ text: String) -> EncodedJSON {
        var bytes: [UInt8] = []
        JSONStringEncoding.append(text, to: &bytes)
        return EncodedJSON(checked: String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the members of a JSON object with the original text of each value; the last of duplicate names wins.
    ///
    /// - Parameter object: the object's text in UTF-8.
    /// - Returns: the values by name.
    /// - Throws: an error if `object` is not a JSON object.
    public static func members(of object: Data) throws -> [String: EncodedJSON] {
        guard try JSONSerialization.jsonObject(with: object) is [String: Any] else {
            throw CocoaError(.propertyListReadCorrupt)
        }
        var members: [String: EncodedJSON] = [:]
        var scanner = JSONMembers(object)
        while let (name, value) = scanner.next() {
            guard let name = EncodedJSON(checked: name).string else { continue }
            members[name] = EncodedJSON(checked: value)
        }
        return members
    }

    /// The content of a JSON string; nil for other values.
    var string: String? {
        guard text.first(where: { !$0.isWhitespace }) == "\"" else { return nil }
        return try? JSONDecoder().decode(String.self, from: Data(text.utf8))
    }
}

/// Iterates over the members of a well-formed object.
private struct JSONMembers {
    private let bytes: [UInt8]
    private var index = 0

    init(_ object: Data) {
        bytes = Array(object)
        while index < bytes.count, bytes[index] != UInt8(ascii: "{") { index += 1 }
        index += 1
    }

    mutating func next() -> (name: String, value: String)? {
        skip { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
        let name = value()
        skip { Self.isSpace($0) || $0 == UInt8(ascii: ":") }
        return (name, value())
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while index < bytes.count, isSkipped(bytes[index]) { index += 1 }
    }

    /// Returns the value at `index`, up to its closing bracket or quote, or up to a separator.
    private mutating func value() -> String {
        let start = index
        var depth = 0
        var isInString = false
        while index < bytes.count {
            let byte = bytes[index]
            if isInString {
                if byte == UInt8(ascii: "\\") { index += 1 }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    guard depth > 0 else { return text(from: start) }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"):
                    if depth == 0 { return text(from: start) }
                default:
                    if depth == 0, Self.isSpace(byte) { return text(from: start) }
                }
            }
            index += 1
            if depth == 0, !isInString, [UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(byte) {
                return text(from: start)
            }
        }
        return text(from: start)
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<min(index, bytes.count)], as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}
