import Foundation
import Wire

/// Signs links that work without a credential, and knows its own again.
package struct LinkSigner: Sendable {
    private let code: HMACSigner

    package init(secrets: [String]) {
        code = HMACSigner(secrets: secrets, use: "roost signed link")
    }

    /// 22 characters that go with these parts of a link, in this order, and with no others.
    package func signature(of parts: [String]) -> String {
        Base64URL.encode(code.code(of: parts))
    }

    package func isSignature(_ signature: String, of parts: [String]) -> Bool {
        guard let given = Base64URL.decode(signature) else { return false }
        return code.isValid(given, of: parts)
    }
}
