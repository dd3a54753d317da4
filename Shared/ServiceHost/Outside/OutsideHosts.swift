package import Configuration
import Foundation

/// Which addresses that users give may be connected to: public ones, and those that the operator allows.
///
/// What a name leads to is known only once it is looked up, so who connects holds the address to `isPublic(_:)` again.
package struct OutsideHosts: Sendable {
    /// `host:port`, in lower case.
    package let allowed: Set<String>

    /// Public addresses, and nothing else unless it is named as `host:port`.
    package init(allowing allowed: Set<String> = []) { self.allowed = allowed }

    /// Reads `ALLOWED_PRIVATE_HOSTS` (none): `host:port`, comma-separated.
    package init(_ configuration: ConfigReader) throws {
        guard let setting = configuration.text("ALLOWED_PRIVATE_HOSTS") else {
            self.init()
            return
        }
        let entries = setting.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        for entry in entries {
            let parts = URLComponents(string: "http://\(entry)")
            guard let parts, parts.host?.isEmpty == false, parts.port != nil, parts.path.isEmpty, parts.user == nil
            else {
                throw SettingError("ALLOWED_PRIVATE_HOSTS", "has \"\(entry)\"; an entry is like 10.0.0.7:8443")
            }
        }
        self.init(allowing: Set(entries))
    }

    /// Whether the operator allows it, wherever it is, encrypted or not; an address of IPv6 in brackets or without.
    package func isAllowed(host: String, port: Int) -> Bool {
        let isBare = host.contains(":") && !host.hasPrefix("[")
        return allowed.contains((isBare ? "[\(host)]:\(port)" : "\(host):\(port)").lowercased())
    }

    /// Whether it may be asked for: allowed, or, as far as its spelling can tell, public.
    package func mayBe(host: String, port: Int) -> Bool {
        guard !isAllowed(host: host, port: port) else { return true }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host.lowercased()
        if let address = IPAddress(bare) { return Self.isPublic(address) }
        let labels = bare.split(separator: ".", omittingEmptySubsequences: false)
        // A name of one word is one of the local network; numbers alone are an address in an old spelling.
        guard labels.count > 1, let last = labels.last, last.contains(where: \.isLetter) else { return false }
        return !["localhost", "local", "internal", "home", "lan", "arpa"].contains(last)
    }

    /// Whether an origin that somebody has named may be asked: a public one over https, or one that is allowed.
    package func mayBe(_ origin: HTTPOrigin) -> Bool {
        mayBe(host: origin.host, port: origin.port)
            && (origin.isSecure || isAllowed(host: origin.host, port: origin.port))
    }

    /// Whether an address is one of the internet's, which anybody may ask us to connect to.
    package static func isPublic(_ address: IPAddress) -> Bool { !special.contains(address) }

    /// The special-purpose registries of IANA (RFC 6890 and its successors): loopback, private, link-local, carrier-grade
    /// NAT, documentation, benchmarks, multicast, and what carries an IPv4 address inside of an IPv6 one.
    private static let special =
        AddressRanges(
            """
            0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,192.0.2.0/24,\
            192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,224.0.0.0/3,\
            ::/96,64:ff9b::/96,64:ff9b:1::/48,100::/64,2001::/23,2001:db8::/32,2002::/16,3fff::/20,5f00::/16,fc00::/7,\
            fe80::/10,fec0::/10,ff00::/8
            """
        ) ?? AddressRanges.none
}
