package import Foundation

/// Base64 for URLs and tokens, without padding (RFC 4648, section 5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    // Implemented by hand because every request creates an id: Foundation's encoder with three replacements takes ten
    // times as long.
    package static func encode(_ bytes: some DataProtocol) -> String {
        String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
            var (length, bits, count) = (0, UInt32(0), 0)
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                count += 8
                while count >= 6 {
                    count -= 6
                    text[length] = alphabet[Int(bits >> UInt32(count) & 63)]
                    length += 1
                }
            }
            if count > 0 {
                text[length] = alphabet[Int(bits << UInt32(6 - count) & 63)]
                length += 1
            }
            return length
        }
    }

    /// Decodes a text; returns nil unless it is the canonical encoding: no padding, white space or stray bits.
    package static func decode(_ text: some StringProtocol) -> Data? {
        guard !text.utf8.contains(where: { [UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "=")].contains($0) })
        else { return nil }
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64), encode(data) == text else { return nil }
        return data
    }

    /// Returns whether a byte is a character of this encoding.
    package static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns `count` random bytes of the system's generator as text.
    package static func random(bytes count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        // One call for eight bytes, because each call may enter the kernel.
        let words = (0..<(count + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { encode($0.prefix(count)) }
    }
}
