import Foundation

/// Base64url without padding (RFC 4648, section 5).
enum Base64URL {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Decodes base64url; also accepts padding and the standard alphabet, because browsers' libraries differ.
    static func decode(_ text: String) -> Data? {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while text.last == "=" { text.removeLast() }
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text)
    }
}
