import Foundation

/// Text in a header (RFC 2047).
enum EncodedWord {
    /// Bytes of UTF-8 in one word: with `=?utf-8?B?…?=` around their base64, and a header's name before it, a line stays
    /// below the limit of 76.
    private static let chunk = 39

    /// The text as it is if a header can carry it so, in encoded words on lines of their own if not.
    ///
    /// A phrase is what names somebody: there marks have a meaning, so plain text with any is quoted.
    static func encode(_ text: String, isPhrase: Bool = false) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 60
        // What looks like an encoded word would be read as one.
        guard isPlain, !text.contains("=?") else { return words(text) }
        guard isPhrase else { return text }
        let isAtoms = text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: " ") || Unicode.Scalar(byte).properties.isAlphabetic
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard !isAtoms else { return text }
        return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    private static func words(_ text: String) -> String {
        var chunks: [String] = []
        var current = ""
        // No character is cut in two: each word is decoded by itself.
        for scalar in text.unicodeScalars {
            if current.utf8.count + String(scalar).utf8.count > chunk {
                chunks.append(current)
                current = ""
            }
            current.unicodeScalars.append(scalar)
        }
        return (chunks + [current]).map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }
}
