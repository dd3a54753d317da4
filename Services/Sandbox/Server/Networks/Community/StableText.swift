import Crypto
import Foundation

/// Pseudo-random text that is the same at every start.
enum StableText {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")

    /// Returns up to 51 base32 characters that depend only on `text`.
    static func base32(of text: String, length: Int) -> String {
        var digits = ""
        var bits: UInt32 = 0
        var count = 0
        for byte in SHA256.hash(data: Data(text.utf8)) {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                digits.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
            bits &= (1 << UInt32(count)) - 1
        }
        return String(digits.prefix(length))
    }

    static func hex(of text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    static func number(of text: String, below limit: Int64) -> Int64 {
        let word = SHA256.hash(data: Data(text.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(word % UInt64(limit))
    }
}
