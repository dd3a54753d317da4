import Foundation
import Wire

/// The signer of links that work without a credential.
package struct LinkSigner: Sendable {
    private let code: HMACSigner

    package init(secrets: [String]) {
        code = HMACSigner(secrets: secrets, use: "roost signed link")
    }

    /// Returns a signature of 22 characters for these parts of a link in this order.
    package func signature(of parts: [String]) -> String {
        Base64URL.encode(code.code(of: parts))
    }

    package func isSignature(_ signature: String, of parts: [String]) -> Bool {
        guard let given = Base64URL.decode(signature) else { return false }
        return code.isValid(given, of: parts)
    }
}
