import Crypto
import Foundation

/// The key by which push services know an application server (RFC 8292): a pair of P-256.
///
/// Browsers bind a subscription to the public half, so a deployment keeps its key: with another one, every subscription
/// has to be made anew.
public struct VAPIDKey: Sendable {
    let signing: P256.Signing.PrivateKey

    /// A new one.
    public init() {
        signing = P256.Signing.PrivateKey()
    }

    /// - Parameter text: the private half, as its 32 bytes in base64url, as tools for Web Push write it, or in PEM.
    /// - Throws: `PushCredentialsError` for anything else.
    public init(_ text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("-----BEGIN"), let key = try? P256.Signing.PrivateKey(pemRepresentation: text) {
            signing = key
        } else if let raw = Base64URL.decode(text), let key = try? P256.Signing.PrivateKey(rawRepresentation: raw) {
            signing = key
        } else {
            throw PushCredentialsError("the VAPID key is neither 32 bytes in base64url nor a key of P-256 in PEM")
        }
    }

    /// Its 32 bytes in base64url; to be kept secret.
    public var privateKey: String { Base64URL.encode(signing.rawRepresentation) }
    /// What a page gives to `subscribe` as `applicationServerKey`: the point's 65 bytes in base64url.
    public var publicKey: String { Base64URL.encode(signing.publicKey.x963Representation) }
}
