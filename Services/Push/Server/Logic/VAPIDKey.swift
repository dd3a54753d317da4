import Configuration
import Crypto
import Foundation
import ServiceHost
import Wire

/// The key by which browsers' push services know who sends (RFC 8292).
struct VAPIDKey: Sendable {
    let key: P256.Signing.PrivateKey

    init(_ key: P256.Signing.PrivateKey) { self.key = key }

    /// The public half as browsers take it, the `applicationServerKey`: an uncompressed point, in base64url.
    var publicKey: String { Base64URL.encode(key.publicKey.x963Representation) }

    /// - Parameter text: PEM, or the 32 bytes of the key in base64url, as tools for web push write it.
    /// - Throws: for what is no key of P-256.
    init(_ text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if let bytes = Base64URL.decode(text) {
            key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
        } else {
            key = try P256.Signing.PrivateKey(pemRepresentation: text)
        }
    }

    /// Reads `VAPID_PRIVATE_KEY` (none): the key, or the path of a file with it.
    init?(_ configuration: ConfigReader) throws {
        guard let text = configuration.text("VAPID_PRIVATE_KEY") else { return nil }
        // Silence: what is no key itself is the path of one.
        if let key = try? VAPIDKey(text) {
            self = key
            return
        }
        do {
            self = try VAPIDKey(try configuration.key("VAPID_PRIVATE_KEY") ?? "")
        } catch let error as SettingError {
            throw error
        } catch {
            throw SettingError("VAPID_PRIVATE_KEY", "holds no P-256 private key, in PEM or as 32 bytes in base64url")
        }
    }
}
