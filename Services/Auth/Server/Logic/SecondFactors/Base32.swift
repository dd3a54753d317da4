import Foundation

/// Base32 without padding (RFC 4648, section 6), the encoding of secrets in authenticator apps.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        var (bits, count) = (UInt32(0), UInt32(0))
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> count & 31)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (5 - count) & 31)]) }
        return text
    }
}
