import Crypto
import Foundation
import NIOCore
import Wire

/// The identifiers of the AT Protocol for people, records and bytes.
enum BlueskyNames {
    private static let sortable = Array("234567abcdefghijklmnopqrstuvwxyz")
    private static let base32 = Array("abcdefghijklmnopqrstuvwxyz234567")

    static func did(_ person: Person) -> String { "did:plc:\(person.stableKey)" }

    static func handle(_ person: Person) -> String { "\(person.name).sandbox.test" }

    /// Returns the timestamp record key (TID) of a number: 13 characters that sort in the order of the numbers.
    static func tid(_ id: Int64) -> String {
        var digits: [Character] = []
        var rest = UInt64(bitPattern: id)
        for _ in 0..<13 {
            digits.append(sortable[Int(rest & 31)])
            rest >>= 5
        }
        return String(digits.reversed())
    }

    static func id(_ tid: String) -> Int64? {
        guard tid.count == 13 else { return nil }
        var id: UInt64 = 0
        for digit in tid {
            guard let index = sortable.firstIndex(of: digit) else { return nil }
            id = id << 5 | UInt64(index)
        }
        return Int64(bitPattern: id)
    }

    /// Returns the content identifier of a record or of raw bytes (CIDv1, SHA-256).
    static func cid(of bytes: some DataProtocol, isRaw: Bool = false) -> String {
        let all = [0x01, isRaw ? 0x55 : 0x71, 0x12, 0x20] + Array(SHA256.hash(data: bytes))
        var text = "b"
        var (bits, count) = (UInt32(0), UInt32(0))
        for byte in all {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(base32[Int(bits >> count & 31)])
            }
            bits &= (1 << count) - 1
        }
        if count > 0 { text.append(base32[Int(bits << (5 - count) & 31)]) }
        return text
    }

    /// Returns a session token, signed with a key that is not secret, because clients only read its expiry.
    static func jwt(_ claims: JSONValue, type: String) -> String {
        let part = { (value: JSONValue) in Base64URL.encode(Data(value.line.utf8)) }
        let signed = part(["alg": "HS256", "typ": .string(type)]) + "." + part(claims)
        let key = SymmetricKey(data: Data("sandbox".utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return signed + "." + Base64URL.encode(Data(code))
    }
}
