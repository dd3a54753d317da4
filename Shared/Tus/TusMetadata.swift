public import Foundation

/// What is said about an upload: the header `Upload-Metadata`.
public struct TusMetadata: Hashable, Sendable {
    /// By their keys; empty for a key without a value.
    public let values: [String: Data]
    /// As it was sent.
    public let text: String

    /// None.
    public init() {
        values = [:]
        text = ""
    }

    /// Pairs of a key and its value in base64, with commas between; nil for what is none, or has a key twice.
    public init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        // Some clients send the header also where they have nothing to say.
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

    /// A value that is text; nil where there is none.
    public subscript(_ key: String) -> String? {
        values[key].flatMap { String(validating: $0, as: UTF8.self) }
    }
}
