public import Foundation

/// A JSON value as its text, which reaches the device just as it was written.
///
/// Decoding and encoding again would round long numbers.
public struct EncodedJSON: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    public var description: String { text }

    /// Nil for what is not one JSON value.
    public init?(_ text: String) {
        guard (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil else {
            return nil
        }
        self.text = text
    }

    public init(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private init(checked text: String) {
        self.text = text
    }

    /// A string.
    public static func string(_ text: String) -> EncodedJSON {
        var bytes: [UInt8] = []
        JSONStringEncoding.append(text, to: &bytes)
        return EncodedJSON(checked: String(decoding: bytes, as: UTF8.self))
    }

    /// The members of a JSON object, each value's text as it stands there; of a name that is there twice, the last.
    ///
    /// - Throws: what is wrong with it, where it is no JSON object.
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

    /// What a string says; nil for other values.
    var string: String? {
        guard text.first(where: { !$0.isWhitespace }) == "\"" else { return nil }
        return try? JSONDecoder().decode(String.self, from: Data(text.utf8))
    }
}

/// The members of an object that is known to be well-formed, one after another.
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

    /// The value that begins here, and goes on to its bracket's or quotation's end, or to what divides it from the next.
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
