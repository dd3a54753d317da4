import Foundation

/// RFC 4648, section 5, without padding.
enum Base64URL {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Takes the standard alphabet and padding as well, as browsers' libraries differ; nil for anything else.
    static func decode(_ text: String) -> Data? {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while text.last == "=" { text.removeLast() }
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text)
    }
}
