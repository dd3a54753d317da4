import NIOCore
import Testing

@testable import PushProviders

/// Whom a subscription may have us connect to.
@Suite struct AddressGuardTests {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1",
        "2001::1", "2001:10::1", "2001:db8::1", "2002:a00:1::1", "3fff::1", "3fff:fff::1", "5f00::1", "fc00::1",
        "fd12::1", "fe80::1", "fec0::1", "ff02::1",
    ])
    func theseAreNotOfThePublicInternet(address: String) throws {
        #expect(try !AddressGuard.isPublic(SocketAddress(ipAddress: address, port: 443)))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.1.1.1", "169.253.1.1",
        "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
        "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450::1", "3ffe::1",
    ])
    func theseAre(address: String) throws {
        #expect(try AddressGuard.isPublic(SocketAddress(ipAddress: address, port: 443)))
    }

    @Test func whatIsAllowedIsOneHostAndPort() throws {
        let guardian = AddressGuard(allowing: ["Push.Internal:8443", "[::1]:8080"])
        let loopback = try SocketAddress(ipAddress: "127.0.0.1", port: 8_443)
        let origin = Origin(isSecure: false, host: "push.internal", port: 8_443)

        #expect(guardian.permits(loopback, for: origin))
        #expect(guardian.mayAsk(origin))
        #expect(guardian.mayAsk(Origin(isSecure: false, host: "::1", port: 8_080)))
        for other in [
            Origin(isSecure: true, host: "push.internal", port: 8_444),
            Origin(isSecure: true, host: "other.internal", port: 8_443),
        ] {
            #expect(!guardian.permits(loopback, for: other))
            #expect(guardian.mayAsk(other))
        }
        #expect(!guardian.mayAsk(Origin(isSecure: false, host: "push.example.org", port: 80)))
    }

    private static func configuration(_ configuration: inout WebPushClient.Configuration, port: Int) {
        configuration.addresses = AddressGuard()
    }

    /// The names lead to the same address; some are spelled as no check of the URL would know.
    @Test(arguments: ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
    func nothingIsSentToAPrivateAddress(host: String) async throws {
        try await withWebPush(isSecure: true, configure: Self.configuration) { scene in
            let reply = await scene.send(to: "https://\(host):\(scene.port)/a")

            #expect(reply == PushReply(.refused, reason: "ForbiddenAddress"))
            #expect(scene.server.connections == 0)
        }
    }

    @Test func nothingIsSentWithoutEncryption() async throws {
        try await withWebPush(configure: Self.configuration) { scene in
            let reply = await scene.send()

            #expect(reply == PushReply(.refused, reason: "BadEndpoint"))
            #expect(scene.server.connections == 0)
        }
    }

    @Test func aNameThatNobodyKnowsIsNotTheSubscriptionsFault() async throws {
        try await withWebPush(configure: Self.configuration) { scene in
            let reply = await scene.send(to: "https://nobody.invalid/a")

            #expect(reply == PushReply(.providerBusy, reason: "Unreachable"))
        }
    }
}
