package import Foundation

/// An IP address as its 16 bytes; an IPv4 address is the mapped IPv6 one.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 100 else { return nil }
        // A zone (fe80::1%eth0) tells interfaces apart, not people.
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

    /// What is counted as one place: the address; of IPv6 the first 64 bits, all of which one customer has.
    package var network: Data { Data(isV4 ? bytes[...] : bytes.prefix(8)) }

    /// The address as people write it.
    package var description: String {
        guard !isV4 else { return bytes.suffix(4).map(String.init).joined(separator: ".") }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = bytes.withUnsafeBytes { inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN)) }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Some of the internet's addresses, such as `127.0.0.0/8,::1`.
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

    /// - Parameter text: addresses and CIDR ranges, comma-separated; nil if one of them is neither.
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

    /// The client behind a request whose peer may be a gateway with one of these addresses.
    ///
    /// A gateway names the client last in `X-Forwarded-For`; what a client wrote before counts for nothing. A peer
    /// without an address is on this machine, and counts as the gateway.
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
