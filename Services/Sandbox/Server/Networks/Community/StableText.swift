import Crypto
import Foundation

/// Text that looks random and is the same at every start.
enum StableText {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")

    /// Letters and digits of base32 that follow from a text alone, 51 at most.
    static func base32(of text: String, length: Int) -> String {
        var letters = ""
        var bits: UInt32 = 0
        var count = 0
        for byte in SHA256.hash(data: Data(text.utf8)) {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                letters.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
            bits &= (1 << UInt32(count)) - 1
        }
        return String(letters.prefix(length))
    }

    static func hex(of text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    /// A whole number below a limit that follows from a text alone.
    static func number(of text: String, below limit: Int64) -> Int64 {
        let word = SHA256.hash(data: Data(text.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(word % UInt64(limit))
    }
}
