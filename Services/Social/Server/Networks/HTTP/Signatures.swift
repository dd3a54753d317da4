import Crypto
import Foundation

/// Codes that networks sign with.
enum Signatures {
    /// Whether two are the same, in a time that tells nothing of where they differ.
    static func isSame(_ given: String, _ expected: String) -> Bool {
        let (given, expected) = (Array(given.utf8), Array(expected.utf8))
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// In lower-case hexadecimal.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }

    /// HMAC-SHA256 in hexadecimal.
    static func sha256(_ data: Data, key: String) -> String {
        hex(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: Data(key.utf8))))
    }

    /// HMAC-SHA1 in hexadecimal, for networks of 2015.
    static func sha1(_ data: Data, key: String) -> String {
        hex(HMAC<Insecure.SHA1>.authenticationCode(for: data, using: SymmetricKey(data: Data(key.utf8))))
    }
}
