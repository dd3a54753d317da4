import NIOCore
import NetworkGuard
import Testing

@testable import PushProviders

/// The hosts that push connects to for a subscription.
@Suite("Address guard of push") struct GuardedPushTests {
    private static func configuration(_ configuration: inout WebPushClient.Configuration, port: Int) {
        configuration.addresses = AddressGuard()
    }

    @Test(
        "Nothing is sent to a private address, however it is spelled",
        arguments: [
            "localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]",
            "[::ffff:0:127.0.0.1]",
        ]
    )
    func spelling(host: String) async throws {
        try await withWebPush(isSecure: true, configure: Self.configuration) { fixture in
            let reply = await fixture.send(to: "https://\(host):\(fixture.port)/a")

            #expect(reply == PushReply(.refused, reason: "ForbiddenAddress"))
            #expect(fixture.server.connections == 0)
        }
    }

    @Test("A host name is checked by the address that its connection uses")
    func name() async throws {
        let configure: (inout WebPushClient.Configuration, Int) -> Void = { configuration, _ in
            configuration.addresses = AddressGuard(resolve: { host, port in
                // The name may have had a public address when the device was registered.
                guard host == "push.example.org" else { return [] }
                return ["127.0.0.1", "::1"].compactMap { try? SocketAddress(ipAddress: $0, port: port) }
            })
        }
        try await withWebPush(isSecure: true, configure: configure) { fixture in
            let reply = await fixture.send(to: "https://Push.Example.org:\(fixture.port)/a")

            #expect(reply == PushReply(.refused, reason: "ForbiddenAddress"))
            #expect(fixture.server.connections == 0)
        }
    }

    @Test("Nothing is sent without encryption")
    func encryption() async throws {
        try await withWebPush(configure: Self.configuration) { fixture in
            let reply = await fixture.send()

            #expect(reply == PushReply(.refused, reason: "BadEndpoint"))
            #expect(fixture.server.connections == 0)
        }
    }

    @Test("Nothing is sent to a port of system services")
    func ports() async throws {
        try await withWebPush(configure: Self.configuration) { fixture in
            for port in [22, 80, 0, 65_536] {
                #expect(await fixture.send(to: "https://push.example.org:\(port)/a").outcome == .refused)
            }
        }
    }

    @Test("An unknown host name reports the provider as unreachable")
    func unknownName() async throws {
        try await withWebPush(configure: Self.configuration) { fixture in
            let reply = await fixture.send(to: "https://nobody.invalid/a")

            #expect(reply == PushReply(.providerBusy, reason: "Unreachable"))
        }
    }
}
