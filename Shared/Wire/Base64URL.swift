package import Foundation

/// Base64 for URLs and tokens, without padding (RFC 4648, section 5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    // By hand, since every request makes an id of it: Foundation's way and three replacements cost ten times as much.
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

    /// The bytes, if `text` is their one canonical spelling: no padding, no white space, no stray last bits.
    package static func decode(_ text: some StringProtocol) -> Data? {
        guard !text.utf8.contains(where: { [UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "=")].contains($0) })
        else { return nil }
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64), encode(data) == text else { return nil }
        return data
    }

    /// Whether a byte is one of those that texts are made of here.
    package static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// `count` random bytes as text, from the system's generator.
    package static func random(bytes count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        // Eight bytes a call: each may ask the kernel.
        let words = (0..<(count + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { encode($0.prefix(count)) }
    }
}
