public import Foundation

/// The metadata of an upload, sent in the header `Upload-Metadata`.
public struct TusMetadata: Hashable, Sendable {
    /// The values by key; empty for a key without a value.
    public let values: [String: Data]
    /// The header as the client sent it.
    public let text: String

    /// Creates empty metadata.
    public init() {
        values = [:]
        text = ""
    }

    /// Parses comma-separated pairs of a key and a base64 value; nil if the text is malformed or repeats a key.
    public init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        // Some clients send an empty header.
        guard text.contains(where: { $0 != " " }) else {
            (self.values, self.text) = ([:], "")
            return
        }
        var values: [String: Data] = [:]
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: " ")
            guard (1...2).contains(parts.count), parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                return nil
            }
            guard let value = parts.count == 1 ? Data() : Data(base64Encoded: String(parts[1])) else { return nil }
            guard values.updateValue(value, forKey: String(parts[0])) == nil else { return nil }
        }
        self.values = values
        self.text = text
    }

    /// The value of a key as text; nil if the key is missing or its value is not UTF-8.
    public subscript(_ key: String) -> String? {
        values[key].flatMap { String(validating: $0, as: UTF8.self) }
    }
}
