import Foundation

/// Encoding of text in a header (RFC 2047).
enum EncodedWord {
    /// The bytes of UTF-8 in an encoded word: with `=?utf-8?B?…?=` around their base64 and the field's name, a line
    /// stays below the limit of 76 characters.
    private static let chunk = 39

    /// Returns the text itself if it is short printable ASCII, else encoded words on separate lines.
    ///
    /// Set `isPhrase` for a display name, in which special characters must be quoted.
    static func encode(_ text: String, isPhrase: Bool = false) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 60
        // Text that resembles an encoded word would be decoded as one.
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
        // Characters are not split, because each word is decoded separately.
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
