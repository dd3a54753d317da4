import Wire

/// A push token that Apple or Google issued to an app, in the form in which push stores it.
///
/// The login of applications, `devices/updatePushToken` and `POST /devices` check tokens by this rule.
package struct PushToken: Hashable, Sendable {
    package let text: String

    /// Creates a token without `<`, `>` and spaces, which early versions of iOS added; an Apple token is in lower case.
    ///
    /// - Parameters:
    ///   - text: the token as the client sent it.
    ///   - platform: the platform that issued the token. Apple's tokens are hexadecimal, Google's are visible ASCII.
    ///   - field: the field that an error names.
    /// - Throws: `missing_field` for an empty token, `too_long` beyond ``PushPlatform/maximumToken`` bytes, or
    ///   `malformed_token`.
    package init(_ text: String, of platform: PushPlatform, field: String) throws {
        let token = String(text.unicodeScalars.filter { !"<> ".unicodeScalars.contains($0) })
        guard !token.isEmpty else { throw APIError.missing(field) }
        guard token.utf8.count <= PushPlatform.maximumToken else {
            let message = "a push token must have at most \(PushPlatform.maximumToken) bytes"
            throw APIError.invalid(field, message, code: "too_long")
        }
        let isApples = platform != .gcm
        guard token.utf8.allSatisfy({ isApples ? Self.isHexadecimal($0) : (0x21...0x7E).contains($0) }) else {
            let rule = isApples ? "Apple's must be hexadecimal" : "Google's must be ASCII without control characters"
            throw APIError.invalid(field, "the push token is malformed; \(rule)", code: "malformed_token")
        }
        self.text = isApples ? token.lowercased() : token
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
