import Foundation

/// The parsed value of a header field such as `Content-Type` or `Content-Disposition`: a word with parameters.
///
/// ```swift
/// let type = FieldParameters(#"multipart/form-data; boundary="a b""#)
/// type?.word          // multipart/form-data
/// type?["boundary"]   // a b
/// ```
///
/// Quoted values are unquoted. Only `\"` and `\\` count as escapes, because browsers send paths such as `C:\photo.jpg`
/// unescaped. A value in extended notation (RFC 8187, `filename*=UTF-8''…`) takes precedence over the plain one.
public struct FieldParameters: Hashable, Sendable {
    /// The text before the first semicolon, in lower case.
    public let word: String
    private let parameters: [String: String]

    /// Parses a field value.
    ///
    /// Returns nil if the word is missing, a quote is unterminated, or a parameter has no value, a name that is not
    /// ASCII, or the same name as another.
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
            // A trailing semicolon is allowed.
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

    /// The value of a parameter, whose name is in lower case; nil if it is missing.
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
            // An unquoted boundary may contain an equals sign, although RFC 2045 requires quotes.
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

    /// Decodes `UTF-8'language'percent-encoded`; nil for another character set.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return String(parts[2]).removingPercentEncoding
    }
}
