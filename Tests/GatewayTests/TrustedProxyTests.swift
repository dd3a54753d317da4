import Configuration
import ServiceHost
import Testing

@testable import GatewayServer

/// The origin of a request, which only trusted proxies may claim.
@Suite("Trusted proxies") struct TrustedProxyTests {
    private func origin(peer: String, trusting ranges: String, claiming claims: Forwarding) throws -> Origin {
        let ranges = try #require(ranges.isEmpty ? AddressRanges.none : AddressRanges(ranges))
        return Origin(of: peer, scheme: "http", trusting: ranges).origin(claiming: claims)
    }

    @Test(
        "The nearest untrusted address is the client",
        arguments: [
            // No proxy is trusted, or not this one.
            ("", "10.0.0.1", ["1.2.3.4"], "10.0.0.1"),
            ("10.0.0.0/8", "11.0.0.1", ["1.2.3.4"], "11.0.0.1"),
            // The nearest untrusted address is the client, whatever is written before it.
            ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
            ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
            ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
            ("10.0.0.0/8,192.168.1.1", "10.0.0.1", ["6.6.6.6,1.2.3.4 , 192.168.1.1", "10.2.2.2"], "1.2.3.4"),
            // All are trusted: the farthest one is the client.
            ("10.0.0.0/8", "10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.0/8", "10.0.0.1", [], "10.0.0.1"),
            // An invalid entry stops the search at the proxy that added it.
            ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4, <script>"], "10.0.0.1"),
            // Ports, brackets and IPv4-mapped addresses.
            ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4:5678"], "1.2.3.4"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
            ("2001:db8::/32", "2001:db8::5", ["2001:db9:0:0::7"], "2001:db9::7"),
            ("10.0.0.0/8", "10.0.0.1", ["::ffff:1.2.3.4"], "1.2.3.4"),
        ]
    )
    func clientAddress(
        ranges: String,
        peer: String,
        fields: [String],
        client: String
    ) throws {
        let claims = Forwarding(addresses: fields)
        #expect(try origin(peer: peer, trusting: ranges, claiming: claims).address == client)
    }

    @Test("Scheme and host are taken only from a trusted proxy")
    func schemeAndHost() throws {
        let claims = Forwarding(addresses: ["1.2.3.4"], scheme: "https", host: "example.org")
        let trusted = try origin(peer: "10.0.0.1", trusting: "10.0.0.1", claiming: claims)
        #expect(trusted.scheme == "https")
        #expect(trusted.host == "example.org")
        let ignored = try origin(peer: "10.0.0.2", trusting: "10.0.0.1", claiming: claims)
        #expect(ignored.scheme == "http")
        #expect(ignored.host == nil)
        let invalid = Forwarding(scheme: "gopher", host: "a b")
        let kept = try origin(peer: "10.0.0.1", trusting: "10.0.0.1", claiming: invalid)
        #expect(kept.scheme == "http")
        #expect(kept.host == nil)
    }

    @Test("The service receives the client's origin, without claims of untrusted proxies", arguments: [true, false])
    func forwardedFields(isTrusted: Bool) async throws {
        try await withGateway(settings: { configuration in
            if isTrusted { configuration.trustedProxies = .loopback }
            configuration.hstsSeconds = 60
        }) { fixture async throws in
            let fields =
                "x-forwarded-for: 6.6.6.6, 1.2.3.4\r\nx-forwarded-proto: https\r\nx-forwarded-host: roost.example\r\n"
                + "x-real-ip: 6.6.6.6\r\nforwarded: for=6.6.6.6\r\nx_forwarded_for: 6.6.6.6\r\n"
            let response = try await fixture.get("/conversations", fields: fields)
            let forwarded = fixture.forwarded(response)
            #expect(forwarded["x-forwarded-for"] == [isTrusted ? "1.2.3.4" : "127.0.0.1"])
            #expect(forwarded["x-forwarded-proto"] == [isTrusted ? "https" : "http"])
            #expect(forwarded["x-forwarded-host"] == [isTrusted ? "roost.example" : "example.org"])
            #expect(!forwarded.head.contains("6.6.6.6"))
            #expect(response["strict-transport-security"].isEmpty == !isTrusted)
        }
    }

    @Test(
        "An invalid list of proxies is refused",
        arguments: ["10.0.0.0/33", "proxy.example", "10.0.0.1,,", "10.0.0", "::1/129", "10.0.0.1;10.0.0.2"]
    )
    func invalidList(list: String) {
        let reader = ConfigReader(provider: InMemoryProvider(values: ["TRUSTED_PROXIES": .init(stringLiteral: list)]))
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(reader: reader) }
        #expect(error?.description.hasPrefix("TRUSTED_PROXIES ") == true)
    }
}
