import NIOCore
import ServiceHost

/// Where a request came from, as services are told.
struct Origin: Sendable {
    /// The client's address, as far as that can be known.
    var address: String
    /// `http` or `https`: what the client itself used.
    var scheme: String
    /// The host that the client asked for, where a proxy has put its own into `Host`.
    var host: String?
    /// Whose word is taken on who was there before; nil where the other end's is not.
    private var trusted: AddressRanges?

    /// The other end of a connection.
    init(of channel: any Channel, scheme: String, trusting ranges: AddressRanges) {
        self.init(of: channel.remoteAddress?.ipAddress ?? "unknown", scheme: scheme, trusting: ranges)
    }

    init(of address: String, scheme: String, trusting ranges: AddressRanges) {
        let ip = ranges.isEmpty ? nil : IPAddress(address)
        self.address = ip?.description ?? address
        self.scheme = scheme
        trusted = ip.map(ranges.contains) ?? false ? ranges : nil
    }

    /// Where a request came from that this end of a connection has brought.
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

    /// What the nearest proxy has said, where several have.
    private static func last(_ list: String) -> Substring {
        FieldValue.tokens(of: list).last ?? ""
    }
}

/// What a request's fields say of the way it took.
struct Forwarding: Sendable {
    /// `X-Forwarded-For`, field by field.
    var addresses: [String] = []
    var scheme: String?
    var host: String?

    /// The last address that no trusted proxy has, walking back from `nearest`.
    ///
    /// What is written to the left of it was written by the client, who may write what it likes.
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

    /// An address without the port that some proxies add.
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
