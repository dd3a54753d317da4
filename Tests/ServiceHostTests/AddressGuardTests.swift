import Configuration
import Dispatch
import NIOCore
import NetworkGuard
import ServiceHost
import Synchronization
import TestSupport
import Testing

/// The hosts that the suite may connect to when a user or peer chooses them.
@Suite("Guard against private addresses") struct AddressGuardTests {
    // MARK: Addresses

    @Test(
        "No special-purpose IPv4 address of IANA's registry is public, and the addresses beside each range are",
        arguments: specialIPv4
    )
    func ipv4(_ range: String) throws { try check(range) }

    @Test("No special-purpose IPv6 address of IANA's registry is public", arguments: specialIPv6)
    func ipv6(_ range: String) throws { try check(range) }

    @Test("Random addresses are public exactly if the registries say so")
    func random() throws {
        var random = SeededGenerator(seed: 19)
        for _ in 0..<5_000 {
            try check(address: mapped | UInt128(UInt32.random(in: 0...(.max), using: &random)))
            let (high, low) = (
                UInt64.random(in: 0...(.max), using: &random), UInt64.random(in: 0...(.max), using: &random)
            )
            try check(address: UInt128(high) << 64 | UInt128(low))
            // Within 2000::/3, which only an eighth of random addresses hits.
            try check(address: UInt128(high >> 3 | 1 << 61) << 64 | UInt128(low))
        }
    }

    @Test(
        "An address of a publicly reachable host is public",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.1.1.1",
            "169.253.1.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.169.0.1", "198.17.0.1", "198.20.0.1",
            "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450::1",
        ]
    )
    func isPublic(_ text: String) throws {
        #expect(PublicInternet.contains(try SocketAddress(ipAddress: text, port: 443)))
    }

    @Test(
        "An IPv6 address that embeds an IPv4 address is not public",
        arguments: [
            "::1.1.1.1", "::ffff:1.1.1.1", "::ffff:127.0.0.1", "::ffff:0:1.1.1.1", "::ffff:0:127.0.0.1",
            "64:ff9b::101:101", "64:ff9b:1::7f00:1", "2002:101:101::1", "2002:7f00:1::", "2001:0:101:101::1",
        ]
    )
    func carriesIPv4(_ text: String) throws {
        #expect(!PublicInternet.contains(try SocketAddress(ipAddress: text, port: 443)))
    }

    /// Checks the first and the last address of a range, and the addresses beside it.
    private func check(_ range: String) throws {
        let parts = range.split(separator: "/")
        let address = try #require(IPAddress(parts[0]))
        let first = address.bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        let length = try #require(Int(parts[1])) + (address.isV4 ? 96 : 0)
        let last = length == 128 ? first : first | UInt128.max >> length
        #expect(try !PublicInternet.contains(socketAddress(first)))
        #expect(try !PublicInternet.contains(socketAddress(last)))
        for address in [first, last, first &- 1, last &+ 1] { try check(address: address) }
    }

    /// Compares with the registries, which another parser reads.
    private func check(address: UInt128) throws {
        let (registry, unicast) = (try #require(special), try #require(allocated))
        let socket = try socketAddress(address)
        let ip = try #require(socket.ipAddress.flatMap { IPAddress($0) })
        // AddressRanges reads a mapped IPv4 address as the IPv4 address.
        let isPublic = unicast.contains(ip) && !registry.contains(ip)
        #expect(PublicInternet.contains(socket) == isPublic, "\(ip)")
    }

    /// The address that is connected to: IPv4 if it is mapped.
    private func socketAddress(_ bits: UInt128) throws -> SocketAddress {
        if bits >> 32 == mapped >> 32 {
            let bytes = (0..<4).reversed().map { String(UInt8(truncatingIfNeeded: bits >> ($0 * 8))) }
            return try SocketAddress(ipAddress: bytes.joined(separator: "."), port: 443)
        }
        let groups = (0..<8).reversed().map { String(UInt16(truncatingIfNeeded: bits >> ($0 * 16)), radix: 16) }
        return try SocketAddress(ipAddress: groups.joined(separator: ":"), port: 443)
    }

    // MARK: Spellings

    @Test(
        "Every spelling of a private host in a URL is refused",
        arguments: [
            "https://127.0.0.1", "https://2130706433", "https://0x7f000001", "https://017700000001", "https://127.1",
            "https://0x7f.1", "https://1.0x7f", "https://0177.0.0.1", "https://127.0.0.1.", "https://1.1.1.1.",
            "https://localhost", "https://LOCALHOST", "https://localhost.", "https://a.localhost", "https://a.LOCAL",
            "https://metadata.google.internal", "https://router.lan", "https://nas.home.arpa", "https://intranet",
            "https://[::1]", "https://[::]", "https://[::ffff:127.0.0.1]", "https://[::FFFF:7F00:1]",
            "https://[::ffff:0:127.0.0.1]", "https://[64:ff9b::7f00:1]", "https://[64:ff9b:1::7f00:1]",
            "https://[2002:7f00:1::]", "https://[2001:0:7f00:1::]", "https://[fe80::1%25eth0]",
            "https://[2606:4700::1%25eth0]", "https://[::127.0.0.1]", "https://[fd00::1]", "https://[ff02::1]",
            "https://169.254.169.254", "https://ex%61mple.org", "https://127.0.0.1%2e", "https://１２７.0.0.1",
            "https://127。0。0。1", "https://u:p@example.org", "https://-", "https://..", "https://a..org",
            "https://\(String(repeating: "a", count: 64)).org", "https://\(String(repeating: "a.", count: 130))org",
            "http://example.org", "ftp://example.org", "//example.org", "example.org", "https://", "https:///a", "",
        ]
    )
    func spelling(_ url: String) {
        #expect(OutboundURL(url).map { AddressGuard().mayConnect($0.origin) } != true)
    }

    @Test(
        "Only port 443 and ports from 1024 on are allowed, and an invalid port is refused",
        arguments: [(22, false), (25, false), (80, false), (442, false), (443, true), (444, false), (1_023, false)]
            + [(1_024, true), (8_443, true), (65_535, true), (0, false), (65_536, false), (99_999, false), (-1, false)]
    )
    func port(_ port: Int, isAllowed: Bool) {
        for host in ["example.org", "1.1.1.1", "[2606:4700::1111]"] {
            let url = OutboundURL("https://\(host):\(port)/")
            #expect((url.map { AddressGuard().mayConnect($0.origin) } ?? false) == isAllowed)
            #expect(AddressGuard().mayConnect(host: host, port: port, isSecure: true) == isAllowed)
        }
    }

    @Test(
        "A URL is rebuilt from its parts",
        arguments: [
            ("HTTPS://Example.ORG", "https://example.org/"),
            ("https://example.org:443/a?b=c#d", "https://example.org/a?b=c"),
            ("https://Example.org:8443/%7Ea/B?C=D%20", "https://example.org:8443/%7Ea/B?C=D%20"),
            ("https://München.example/ä", "https://xn--mnchen-3ya.example/%C3%A4"),
            ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
        ]
    )
    func rebuilt(_ url: String, _ text: String) throws {
        let rebuilt = try #require(OutboundURL(url))
        #expect(rebuilt.text == text)
        #expect(AddressGuard().mayConnect(rebuilt.origin))
    }

    @Test("The operator's exceptions are allowed by host and port")
    func exceptions() throws {
        let settings = ["ALLOWED_PRIVATE_HOSTS": " 10.0.0.7:8443 , Push.Internal:80,[fd00::1]:443"]
        let addresses = try AddressGuard(
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        )
        let loopback = try SocketAddress(ipAddress: "127.0.0.1", port: 80)

        #expect(addresses.mayConnect(host: "10.0.0.7", port: 8_443, isSecure: false))
        #expect(addresses.mayConnect(host: "PUSH.internal", port: 80, isSecure: false))
        #expect(addresses.mayConnect(host: "[fd00::1]", port: 443, isSecure: true))
        #expect(addresses.mayConnect(host: "fd00::1", port: 443, isSecure: true))
        #expect(addresses.permits(loopback, for: "push.internal", port: 80))
        #expect(!addresses.permits(loopback, for: "push.internal", port: 81))
        #expect(!addresses.mayConnect(host: "10.0.0.7", port: 443, isSecure: true))
        #expect(!addresses.mayConnect(host: "push.internal", port: 443, isSecure: true))
        #expect(addresses.mayConnect(host: "example.org", port: 443, isSecure: true))
        #expect(!addresses.mayConnect(host: "example.org", port: 443, isSecure: false))
    }

    // MARK: Look-ups

    @Test("Of the addresses of a name, only the public ones are used")
    func lookUp() async throws {
        let addresses = AddressGuard(resolve: { host, port in
            let texts =
                ["mixed.example": ["10.0.0.1", "1.1.1.1", "::1"], "private.example": ["127.0.0.1"]][host] ?? []
            return texts.compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        })

        let found = try await addresses.addresses(of: "mixed.example", port: 443)
        #expect(found.map(\.ipAddress) == ["1.1.1.1"])
        await #expect(throws: AddressGuardError.privateAddress) {
            try await addresses.addresses(of: "private.example", port: 443)
        }
        await #expect(throws: AddressGuardError.unknownHost) {
            try await addresses.addresses(of: "none.example", port: 443)
        }
    }

    @Test("A domain whose name server does not answer delays no other domain", .timeLimit(.minutes(1)))
    func slowDomain() async throws {
        let server = StalledNameServer()
        let addresses = AddressGuard(
            resolve: { server.resolve($0, $1) },
            lookupQueue: DNSLookupQueue(maximum: 4, share: 2, maximumWaiting: 8, queueTimeout: .milliseconds(100))
        )
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            defer { server.answer(40) }
            for number in 0..<40 {
                tasks.addTask {
                    do {
                        return try await addresses.addresses(of: "a\(number).slow.example", port: 443).isEmpty
                    } catch AddressGuardError.tooManyLookups {
                        return true
                    }
                }
            }
            try await eventually { server.blocked == 2 }

            #expect(try await addresses.addresses(of: "fast.example", port: 443).count == 1)
            #expect(try await addresses.addresses(of: "a.b.fast.example", port: 443).count == 1)

            // The 38 look-ups that are still waiting fail while the two are still blocked.
            for _ in 0..<38 {
                let isRefused = try await tasks.next()
                #expect(isRefused == true)
            }
            #expect(server.blocked == 2)
            server.answer(2)
            for _ in 0..<2 {
                let isRefused = try await tasks.next()
                #expect(isRefused == false)
            }
        }
        // A look-up releases its slot just after its result.
        try await eventually("free again") { try await Self.isFound("b.slow.example", addresses) }
    }

    @Test("A look-up that gets no thread in time is refused", .timeLimit(.minutes(1)))
    func noThread() async throws {
        let server = StalledNameServer()
        let addresses = AddressGuard(
            resolve: { server.resolve($0, $1) },
            lookupQueue: DNSLookupQueue(maximum: 1, queueTimeout: .milliseconds(20))
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { server.answer(1) }
            tasks.addTask { _ = try await addresses.addresses(of: "a.slow.example", port: 443) }
            try await eventually { server.blocked == 1 }

            await #expect(throws: AddressGuardError.tooManyLookups) {
                try await addresses.addresses(of: "fast.example", port: 443)
            }
        }
        try await eventually("free again") { try await Self.isFound("fast.example", addresses) }
    }

    private static func isFound(_ host: String, _ addresses: AddressGuard) async throws -> Bool {
        do {
            return try await addresses.addresses(of: host, port: 443).count == 1
        } catch AddressGuardError.tooManyLookups {
            return false
        }
    }

    @Test(
        "Hosts that one owner can add share a registered domain",
        arguments: [
            ("Example.org", "example.org"), ("a.b.example.org.", "example.org"), ("a.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"), ("a.b.abc.de", "abc.de"), ("localhost", "localhost"), ("", ""),
        ]
    )
    func registeredDomain(_ host: String, _ domain: String) {
        #expect(DNSLookupQueue.registeredDomain(of: host) == domain)
    }
}

/// A resolver that resolves names of slow.example only when the test allows it.
private final class StalledNameServer: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let count = Mutex(0)

    var blocked: Int { count.withLock { $0 } }

    func answer(_ number: Int) {
        for _ in 0..<number { gate.signal() }
    }

    func resolve(_ host: String, _ port: Int) -> [SocketAddress] {
        if host.hasSuffix("slow.example") {
            count.withLock { $0 += 1 }
            gate.wait()
        }
        return [try? SocketAddress(ipAddress: "1.1.1.1", port: port)].compactMap(\.self)
    }
}

private let mapped: UInt128 = 0xFFFF << 32

/// https://www.iana.org/assignments/iana-ipv4-special-registry, as of 2025.
private let specialIPv4 = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
    "255.255.255.255/32",
]

/// https://www.iana.org/assignments/iana-ipv6-special-registry, as of 2025.
///
/// With the prefixes of RFC 7915 (SIIT) and RFC 3879 (site-local), which the registry does not have.
/// `::ffff:0:0/96` has a separate test.
private let specialIPv6 = [
    "::1/128", "::/128", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
    "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
    "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]

private let special = AddressRanges((specialIPv4 + specialIPv6 + ["224.0.0.0/4"]).joined(separator: ","))
/// All of IPv4, and the part of IPv6 that IANA allocates.
private let allocated = AddressRanges("0.0.0.0/0,2000::/3")
