import Foundation
import Wire

enum ClientKey {
    static func user(_ user: User.ID) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(user)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Returns the key of an IPv4 address or of an IPv6 /64, the smallest block that a provider assigns to a customer.
    static func address(_ address: String) -> UInt64 {
        var hasher = Hasher()
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if inet_pton(AF_INET, address, &ipv4) == 1 {
            hasher.combine(ipv4.s_addr)
        } else if inet_pton(AF_INET6, address, &ipv6) == 1 {
            withUnsafeBytes(of: ipv6) { bytes in
                let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
                if bytes.prefix(12).elementsEqual(mapped) {
                    // An IPv4-mapped address, as a dual-stack socket reports it.
                    hasher.combine(bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
                } else {
                    hasher.combine(bytes.loadUnaligned(as: UInt64.self))
                }
            }
        } else {
            hasher.combine(address)
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
