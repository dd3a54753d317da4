public import NIOCore

/// The addresses of the public internet: allocated unicast space without IANA's special-purpose registries.
///
/// IPv6 addresses that embed an IPv4 address (mapped, SIIT, NAT64, 6to4, Teredo) do not count as public. The lookup of
/// a public host does not return them.
///
/// Source: RFC 6890 and its successors.
public enum PublicInternet {
    /// Returns whether an address is public; Unix domain sockets are not.
    public static func contains(_ address: SocketAddress) -> Bool {
        address.withSockAddr { start, size in
            let bytes = UnsafeRawBufferPointer(start: start, count: size)
            // The address follows family and port in sockaddr_in, and also the flow label in sockaddr_in6 (RFC 3493).
            switch address {
            case .v4 where size >= 8:
                let bits = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
                return contains(ipv4: UInt32(bigEndian: bits))
            case .v6 where size >= 24:
                let bits = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                return contains(ipv6: UInt64(bigEndian: bits))
            default: return false
            }
        }
    }

    private static func contains(ipv4 bits: UInt32) -> Bool {
        !specialIPv4.contains { (bits ^ $0.prefix) >> (32 - $0.length) == 0 }
    }

    /// Returns whether an address is public, which its first 64 bits determine.
    private static func contains(ipv6 bits: UInt64) -> Bool {
        // 2000::/3 is the only unicast space that IANA allocates.
        bits >> 61 == 1 && !specialIPv6.contains { (bits ^ $0.prefix) >> (64 - $0.length) == 0 }
    }

    /// The special-purpose IPv4 ranges, as numbers so that no text has to be parsed.
    private static let specialIPv4: [(prefix: UInt32, length: UInt32)] = [
        (0x0000_0000, 8),  // 0.0.0.0/8: this network
        (0x0A00_0000, 8),  // 10.0.0.0/8: private use
        (0x6440_0000, 10),  // 100.64.0.0/10: carrier-grade NAT
        (0x7F00_0000, 8),  // 127.0.0.0/8: loopback
        (0xA9FE_0000, 16),  // 169.254.0.0/16: link-local, and the metadata services of clouds
        (0xAC10_0000, 12),  // 172.16.0.0/12: private use
        (0xC000_0000, 24),  // 192.0.0.0/24: protocol assignments
        (0xC000_0200, 24),  // 192.0.2.0/24: documentation
        (0xC01F_C400, 24),  // 192.31.196.0/24: AS112
        (0xC034_C100, 24),  // 192.52.193.0/24: AMT relays
        (0xC058_6300, 24),  // 192.88.99.0/24: 6to4 relays, deprecated
        (0xC0A8_0000, 16),  // 192.168.0.0/16: private use
        (0xC0AF_3000, 24),  // 192.175.48.0/24: AS112
        (0xC612_0000, 15),  // 198.18.0.0/15: benchmarks
        (0xC633_6400, 24),  // 198.51.100.0/24: documentation
        (0xCB00_7100, 24),  // 203.0.113.0/24: documentation
        (0xE000_0000, 3),  // 224.0.0.0/4 and 240.0.0.0/4: multicast, reserved, broadcast
    ]

    /// The special-purpose IPv6 ranges within 2000::/3, by the first 64 bits of each prefix.
    private static let specialIPv6: [(prefix: UInt64, length: UInt64)] = [
        (0x2001_0000_0000_0000, 23),  // 2001::/23: protocol assignments, Teredo (2001::/32) among them
        (0x2001_0DB8_0000_0000, 32),  // 2001:db8::/32: documentation
        (0x2002_0000_0000_0000, 16),  // 2002::/16: 6to4
        (0x2620_004F_8000_0000, 48),  // 2620:4f:8000::/48: AS112
        (0x3FFF_0000_0000_0000, 20),  // 3fff::/20: documentation
    ]
}
