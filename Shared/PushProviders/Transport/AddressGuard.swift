import Foundation
import NIOCore

/// Which addresses may be connected to, where the URL was given by somebody else.
///
/// Those of the public internet, over https, and what the operator allows. What counts is the address that is connected
/// to: it is looked at after the name was looked up and before the first packet, so that a name that means one thing to
/// who checks and another to who connects gains nothing.
public struct AddressGuard: Sendable {
    private let allowed: Set<String>

    /// - Parameter allowed: `host:port` that may be connected to wherever they are, with or without encryption; a host is
    ///   named as the URLs have it, an IPv6 address in brackets.
    public init(allowing allowed: Set<String> = []) {
        self.allowed = Set(allowed.map { $0.lowercased() })
    }

    func allows(_ origin: Origin) -> Bool {
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        return allowed.contains("\(host):\(origin.port)")
    }

    /// Whether anything may be sent there, as far as the URL tells.
    func mayAsk(_ origin: Origin) -> Bool { origin.isSecure || allows(origin) }

    func permits(_ address: SocketAddress, for origin: Origin) -> Bool {
        allows(origin) || Self.isPublic(address)
    }

    static func isPublic(_ address: SocketAddress) -> Bool {
        switch address {
        case .v4(let address): isPublic(v4: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): isPublic(v6: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: false
        }
    }

    /// IANA's registry of special-purpose IPv4 addresses (RFC 6890 and after), multicast and what is reserved.
    private static func isPublic(v4 bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1], bytes[2]) {
        case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
        case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
        default: true
        }
    }

    /// Only 2000::/3 is given out to anybody; of it, not what is for tunnels, protocols and books, which may lead anywhere.
    private static func isPublic(v6 bytes: [UInt8]) -> Bool {
        guard bytes[0] & 0xe0 == 0x20 else { return false }
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0x00...0x01, _), (0x20, 0x01, 0x0d, 0xb8), (0x20, 0x02, _, _): return false
        case (0x3f, 0xff, 0x00...0x0f, _): return false
        default: return true
        }
    }
}

extension AddressGuard {
    /// A look-up found addresses, and none of them is one to connect to.
    struct Forbidden: Error {}
}
