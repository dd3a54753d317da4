import Crypto
import Foundation

/// What a provider is told a collapse key to be, where it takes only short names: what is too long is named by its hash.
enum CollapseID {
    /// - Parameters:
    ///   - key: as the sender has it.
    ///   - limit: how many bytes a name may have.
    ///   - isAllowed: whether it may have this one.
    /// - Returns: the key itself where it may be had, or its hash.
    static func make(_ key: String, limit: Int, isAllowed: (UInt8) -> Bool) -> String {
        let bytes = key.utf8
        if !bytes.isEmpty, bytes.count <= limit, bytes.allSatisfy(isAllowed) { return key }
        return String(Base64URL.encode(SHA256.hash(data: Data(bytes))).prefix(limit))
    }

    /// What a header's value may hold (RFC 9110, section 5.5) without being misread by anybody.
    static func isVisibleASCII(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) }
}
