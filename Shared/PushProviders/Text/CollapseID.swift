import Crypto
import Foundation

/// Shortens collapse keys for providers that limit their length and characters.
enum CollapseID {
    /// Returns the key, or a prefix of its hash in base64url if the provider does not accept the key.
    ///
    /// - Parameters:
    ///   - key: the sender's key.
    ///   - limit: the maximum number of bytes.
    ///   - isAllowed: whether the provider accepts a byte.
    /// - Returns: the identifier for the provider.
    static func make(_ key: String, limit: Int, isAllowed: (UInt8) -> Bool) -> String {
        let bytes = key.utf8
        if !bytes.isEmpty, bytes.count <= limit, bytes.allSatisfy(isAllowed) { return key }
        return String(Base64URL.encode(SHA256.hash(data: Data(bytes))).prefix(limit))
    }

    /// Returns whether every recipient accepts the byte in a header's value (RFC 9110, section 5.5).
    static func isVisibleASCII(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) }
}
