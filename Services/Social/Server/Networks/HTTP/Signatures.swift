import Crypto
import Foundation

/// The message authentication codes with which networks sign.
enum Signatures {
    /// Returns whether two codes are equal, in a time that does not depend on where they differ.
    static func isSame(_ given: String, _ expected: String) -> Bool {
        let (given, expected) = (Array(given.utf8), Array(expected.utf8))
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns bytes in lower-case hexadecimal.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }

    /// Returns the HMAC-SHA256 in hexadecimal.
    static func sha256(_ data: Data, key: String) -> String {
        hex(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: Data(key.utf8))))
    }

    /// Returns the HMAC-SHA1 in hexadecimal, which networks used in 2015.
    static func sha1(_ data: Data, key: String) -> String {
        hex(HMAC<Insecure.SHA1>.authenticationCode(for: data, using: SymmetricKey(data: Data(key.utf8))))
    }
}
