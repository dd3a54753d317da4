import Crypto
import Foundation
import Wire

/// The nonce that binds an ID token to the client that requested it.
///
/// The provider receives the nonce's SHA-256 and puts it into the token; auth receives the nonce itself. A stolen token
/// is therefore useless, because it does not reveal the nonce. Apple's and Google's examples do the same.
enum ProofNonce {
    /// Returns the claim for the provider: the SHA-256 in lower-case hex.
    static func claim(of nonce: String) -> String {
        SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    /// Returns 43 random characters for nonces, states and PKCE verifiers.
    static func random() -> String { Base64URL.random(bytes: 32) }

    /// Returns the S256 challenge of PKCE (RFC 7636, section 4.2).
    static func challenge(of verifier: String) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(verifier.utf8))))
    }
}
