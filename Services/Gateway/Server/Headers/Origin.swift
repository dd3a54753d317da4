import NIOCore
import ServiceHost

/// The origin of a request, as the gateway reports it to services.
struct Origin: Sendable {
    /// The client's address, as far as it can be determined.
    var address: String
    /// `http` or `https`, as the client used it.
    var scheme: String
    /// The host that the client requested, when a proxy has replaced `Host`.
    var host: String?
    /// The ranges of trusted proxies; nil when the other end of the connection is not a trusted proxy.
    private var trusted: AddressRanges?

    init(of channel: any Channel, scheme: String, trusting ranges: AddressRanges) {
        self.init(of: channel.remoteAddress?.ipAddress ?? "unknown", scheme: scheme, trusting: ranges)
    }

    init(of address: String, scheme: String, trusting ranges: AddressRanges) {
        let ip = ranges.isEmpty ? nil : IPAddress(address)
        self.address = ip?.description ?? address
        self.scheme = scheme
        trusted = ip.map(ranges.contains) ?? false ? ranges : nil
    }

    /// Returns the origin of a request on this connection whose forwarding fields make these claims.
    func origin(claiming claims: Forwarding) -> Origin {
        guard let trusted else { return self }
        var origin = self
        origin.trusted = nil
        origin.address = claims.client(beyond: address, trusting: trusted)
        if let scheme = claims.scheme.flatMap(Self.scheme) { origin.scheme = scheme }
        origin.host = claims.host.map { String(Self.last($0)) }.flatMap { FieldValue.isHost($0) ? $0 : nil }
        return origin
    }

    private static func scheme(_ value: String) -> String? {
        let scheme = last(value).lowercased()
        return scheme == "http" || scheme == "https" ? scheme : nil
    }

    /// Returns the last element, which the nearest proxy added.
    private static func last(_ list: String) -> Substring {
        FieldValue.tokens(of: list).last ?? ""
    }
}

struct Forwarding: Sendable {
    /// The values of the `X-Forwarded-For` fields.
    var addresses: [String] = []
    var scheme: String?
    var host: String?

    /// Returns the last address that is not a trusted proxy, going backwards from `nearest`.
    ///
    /// The client could have written any address further left, so those are ignored.
    fileprivate func client(beyond nearest: String, trusting ranges: AddressRanges) -> String {
        var client = nearest
        for field in addresses.reversed() {
            for hop in FieldValue.tokens(of: field).reversed() {
                guard let address = IPAddress(Self.bare(hop)) else { return client }
                client = address.description
                guard ranges.contains(address) else { return client }
            }
        }
        return client
    }

    /// Returns an address without the port that some proxies append.
    private static func bare(_ hop: Substring) -> Substring {
        if hop.hasPrefix("["), let end = hop.firstIndex(of: "]") { return hop[hop.index(after: hop.startIndex)..<end] }
        guard let colon = hop.firstIndex(of: ":"), hop[hop.index(after: colon)...].allSatisfy(\.isNumber),
            hop.contains(".")
        else {
            return hop
        }
        return hop[..<colon]
    }
}
