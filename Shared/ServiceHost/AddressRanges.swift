package import Foundation

/// An IP address as 16 bytes; IPv4 addresses are stored as IPv4-mapped IPv6 addresses.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 100 else { return nil }
        // The zone (fe80::1%eth0) identifies an interface of this machine, not the client.
        let text = String(text.prefix { $0 != "%" })
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            bytes = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + withUnsafeBytes(of: v4) { Array($0) }
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            bytes = withUnsafeBytes(of: v6) { Array($0) }
        } else {
            return nil
        }
    }

    package var isV4: Bool { bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] }

    /// The unit for rate limits: an IPv4 address, or the first 64 bits of an IPv6 address, which one customer usually
    /// owns.
    package var network: Data { Data(isV4 ? bytes[...] : bytes.prefix(8)) }

    /// The address in its usual notation.
    package var description: String {
        guard !isV4 else { return bytes.suffix(4).map(String.init).joined(separator: ".") }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = bytes.withUnsafeBytes { inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN)) }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A set of IP addresses and CIDR ranges, such as `127.0.0.0/8,::1`.
package struct AddressRanges: Sendable {
    private struct Range: Sendable {
        let address: IPAddress
        let bits: Int
    }

    package static let loopback = AddressRanges(ranges: ["127.0.0.0/8", "::1"].compactMap(Self.range))
    package static let none = AddressRanges(ranges: [])

    private let ranges: [Range]

    private init(ranges: [Range]) {
        self.ranges = ranges
    }

    /// Parses addresses and CIDR ranges separated by commas; returns nil if one of them is invalid.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        ranges = parts.compactMap(Self.range)
        guard ranges.count == parts.count else { return nil }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    package func contains(_ address: IPAddress) -> Bool {
        ranges.contains { range in
            let whole = range.bits / 8
            let rest = range.bits % 8
            guard range.address.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
            return rest == 0 || (range.address.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0
        }
    }

    /// Returns the client's address of a request, whose peer may be a gateway in these ranges.
    ///
    /// Only the last address of `X-Forwarded-For` counts, because the gateway appended it; the client may have forged
    /// the others. A peer without an address is on this machine and counts as the gateway.
    ///
    /// - Parameters:
    ///   - peer: the address of the connection's peer.
    ///   - fields: the values of the `X-Forwarded-For` fields.
    /// - Returns: the client's address, or nil if it is unknown.
    package func client(of peer: IPAddress?, forwardedFor fields: [String]) -> IPAddress? {
        if let peer, !contains(peer) { return peer }
        let named = fields.last?.split(separator: ",").last.flatMap { IPAddress($0.drop { $0 == " " }) }
        return named ?? peer
    }

    private static func range(_ text: String) -> Range? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first), parts.count <= 2 else { return nil }
        let width = address.isV4 ? 32 : 128
        guard parts.count == 2 else { return Range(address: address, bits: 128) }
        guard let bits = Int(parts[1]), (0...width).contains(bits) else { return nil }
        return Range(address: address, bits: 128 - width + bits)
    }
}
