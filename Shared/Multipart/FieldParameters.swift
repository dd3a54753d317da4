import Foundation

/// The value of a header field such as `Content-Type` or `Content-Disposition`: a word, and parameters behind it.
///
/// ```swift
/// let type = FieldParameters(#"multipart/form-data; boundary="a b""#)
/// type?.word          // multipart/form-data
/// type?["boundary"]   // a b
/// ```
///
/// A quoted value is unquoted; of a backslash only `\"` and `\\` are taken as escapes, since browsers send paths such as
/// `C:\photo.jpg` as they are. A value in the extended notation (RFC 8187, `filename*=UTF-8''…`) wins over the plain one.
public struct FieldParameters: Hashable, Sendable {
    /// What stands before the first semicolon, in lower case.
    public let word: String
    private let parameters: [String: String]

    /// Nil for what is malformed: no word, a parameter without a value, with a name that is not ASCII or there twice, a quote
    /// without an end.
    public init?(_ text: String) {
        var rest = text.utf8[...]
        let word = Self.token(&rest, endingAt: " \t;=\"")
        guard !word.isEmpty else { return nil }
        var parameters: [String: String] = [:]
        while true {
            Self.skipSpace(&rest)
            guard !rest.isEmpty else { break }
            guard rest.popFirst() == UInt8(ascii: ";") else { return nil }
            Self.skipSpace(&rest)
            // A semicolon at the end says nothing.
            guard !rest.isEmpty else { break }
            let name = Self.token(&rest, endingAt: " \t;=\"")
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 < 0x80 }), rest.popFirst() == UInt8(ascii: "="),
                let value = Self.value(&rest),
                parameters.updateValue(value, forKey: name.lowercased()) == nil
            else { return nil }
        }
        self.word = word.lowercased()
        self.parameters = parameters
    }

    /// A parameter's value; nil where it is not there.
    public subscript(_ name: String) -> String? {
        parameters["\(name)*"].flatMap(Self.extended) ?? parameters[name]
    }

    private static func skipSpace(_ rest: inout Substring.UTF8View) {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    private static func token(_ rest: inout Substring.UTF8View, endingAt separators: String) -> String {
        let end = rest.firstIndex { separators.utf8.contains($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return String(Substring(rest[..<end]))
    }

    private static func value(_ rest: inout Substring.UTF8View) -> String? {
        guard rest.first == UInt8(ascii: "\"") else {
            // An unquoted boundary may hold an equals sign, though it should not.
            let value = token(&rest, endingAt: " \t;\"")
            return value.isEmpty ? nil : value
        }
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), let next = rest.first, "\"\\".utf8.contains(next) {
                value.append(next)
                rest.removeFirst()
            } else {
                value.append(byte)
            }
        }
        return nil
    }

    /// `UTF-8'language'percent-encoded`; nil in another character set.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return String(parts[2]).removingPercentEncoding
    }
}
