import Crypto
import Foundation

/// The P-256 key pair that identifies an application server to push services (RFC 8292).
///
/// Browsers bind a subscription to the public key, so a new key invalidates all subscriptions.
public struct VAPIDKey: Sendable {
    let signing: P256.Signing.PrivateKey

    /// Generates a key pair.
    public init() {
        signing = P256.Signing.PrivateKey()
    }

    /// Creates a key pair from a private key.
    ///
    /// - Parameter text: the private key, as 32 bytes in base64url or as PEM.
    /// - Throws: ``PushCredentialsError`` for any other text.
    public init(_ text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("-----BEGIN"), let key = try? P256.Signing.PrivateKey(pemRepresentation: text) {
            signing = key
        } else if let raw = Base64URL.decode(text), let key = try? P256.Signing.PrivateKey(rawRepresentation: raw) {
            signing = key
        } else {
            throw PushCredentialsError("the VAPID key must be a P-256 private key, as 32 bytes in base64url or as PEM")
        }
    }

    /// The private key, 32 bytes in base64url; a secret.
    public var privateKey: String { Base64URL.encode(signing.rawRepresentation) }
    /// The `applicationServerKey` of `pushManager.subscribe`: an uncompressed P-256 point, 65 bytes in base64url.
    public var publicKey: String { Base64URL.encode(signing.publicKey.x963Representation) }
}
