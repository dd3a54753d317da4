import Crypto
import Foundation
import Wire

/// What binds an ID token to the one who asked for it.
///
/// The provider is told the hash, and bears it in the token; the nonce itself is shown to us. Who comes by a token can
/// therefore not use it: it does not say what it was made of. This is what Apple's and Google's own examples do.
enum ProofNonce {
    /// What the provider is told: SHA-256, in lower-case hex.
    static func claim(of nonce: String) -> String {
        SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    /// 43 characters that nobody guesses; for nonces, states, and the verifiers of PKCE.
    static func random() -> String { Base64URL.random(bytes: 32) }

    /// The challenge of PKCE, S256 (RFC 7636, section 4.2).
    static func challenge(of verifier: String) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(verifier.utf8))))
    }
}
