import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NetworkGuard
import ServiceHost
import Synchronization
import Testing

/// Connections to hosts that a user chose.
@Suite("Guarded connections") struct GuardedConnectionTests {
    /// The test treats 127.0.0.2 as public, so that no packet leaves the machine.
    private static func isPublic(_ address: SocketAddress) -> Bool { address.ipAddress == "127.0.0.2" }

    @Test("A connection goes to the address that was checked, also for a host in upper case")
    func pinned() async throws {
        try await Listener.pair { outside, inside in
            let lookups = Mutex(0)
            // The result changes after the first look-up: DNS rebinding.
            let addresses = AddressGuard(
                resolve: { host, port in
                    let number = lookups.withLock { count in
                        count += 1
                        return count
                    }
                    guard host == "evil.example" else { return [] }
                    let text = number == 1 ? "127.0.0.2" : "127.0.0.1"
                    return [try? SocketAddress(ipAddress: text, port: port)].compactMap(\.self)
                },
                isPublic: Self.isPublic
            )
            try await withConnections { connections in
                await #expect(throws: (any Error).self) {
                    try await connections.get("https://Evil.Example:\(outside.port)/", addresses)
                }
                #expect(outside.connections == 1)
            }
            try await withConnections { connections in
                await #expect(throws: OutboundConnectionError.self) {
                    try await connections.get("https://evil.example:\(outside.port)/", addresses)
                }
            }
            #expect(lookups.withLock { $0 } == 2)
            #expect(outside.connections == 1)
            #expect(inside.connections == 0)
        }
    }

    @Test("Private addresses of a name are not connected to")
    func mixed() async throws {
        try await Listener.pair { outside, inside in
            let addresses = AddressGuard(
                resolve: { _, port in
                    ["127.0.0.1", "127.0.0.2", "::1"].compactMap { try? SocketAddress(ipAddress: $0, port: port) }
                },
                isPublic: Self.isPublic
            )
            try await withConnections { connections in
                await #expect(throws: (any Error).self) {
                    try await connections.get("https://mixed.example:\(outside.port)/", addresses)
                }
            }
            #expect(outside.connections == 1)
            #expect(inside.connections == 0)
        }
    }

    @Test("A redirect is not followed")
    func redirect() async throws {
        try await Listener.pair { outside, inside in
            outside.answer(
                "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:\(inside.port)/\r\ncontent-length: 0\r\n\r\n"
            )
            let addresses = AddressGuard(allowing: ["127.0.0.2:\(outside.port)"])
            try await withConnections { connections in
                let response = try await connections.get("http://127.0.0.2:\(outside.port)/", addresses)
                #expect(response.status == .found)
            }
            #expect(inside.connections == 0)
        }
    }

    @Test(
        "A refused URL causes no connection",
        arguments: ["http://127.0.0.2", "https://127.0.0.1", "https://localhost", "https://[::ffff:0:127.0.0.1]"]
    )
    func refused(_ url: String) async throws {
        try await Listener.pair { outside, inside in
            let addresses = AddressGuard(resolve: { _, _ in [] }, isPublic: Self.isPublic)
            try await withConnections { connections in
                for port in [outside.port, 70_000] {
                    await #expect(throws: OutboundConnectionError.self) {
                        try await connections.get("\(url):\(port)/", addresses)
                    }
                }
            }
            #expect(outside.connections == 0)
            #expect(inside.connections == 0)
        }
    }

    private func withConnections(_ body: (OutboundConnections) async throws -> Void) async throws {
        let connections = try OutboundConnections(trustedCA: nil)
        do {
            try await body(connections)
        } catch {
            await connections.shutdown()
            throw error
        }
        await connections.shutdown()
    }
}

extension OutboundConnections {
    fileprivate func get(_ url: String, _ addresses: AddressGuard) async throws -> HTTPClientResponse {
        try await execute(HTTPClientRequest(url: url), guardedBy: addresses, deadline: .now() + .seconds(60))
    }
}

/// A listener that counts its connections, and sends the test's response to the first bytes, or closes.
private final class Listener: Sendable {
    private final class State: Sendable {
        let accepted = Mutex(0)
        let answer = Mutex("")
    }

    private let channel: any Channel
    private let state: State

    private init(on host: String, port: Int) async throws {
        let state = State()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                state.accepted.withLock { $0 += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Responder(state))
                }
            }
            .bind(host: host, port: port).get()
        self.state = state
    }

    var port: Int { channel.localAddress?.port ?? 0 }
    var connections: Int { state.accepted.withLock { $0 } }

    func answer(_ text: String) { state.answer.withLock { $0 = text } }

    /// Runs `body` with a listener on 127.0.0.2 and one on 127.0.0.1, at the same port.
    static func pair(_ body: (_ outside: Listener, _ inside: Listener) async throws -> Void) async throws {
        let outside = try await Listener(on: "127.0.0.2", port: 0)
        let inside = try await Listener(on: "127.0.0.1", port: outside.port)
        do {
            try await body(outside, inside)
        } catch {
            await close(outside, inside)
            throw error
        }
        await close(outside, inside)
    }

    private static func close(_ listeners: Listener...) async {
        for listener in listeners { try? await listener.channel.close().get() }  // Closed already is closed.
    }

    private final class Responder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let state: State

        init(_ state: State) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = state.answer.withLock { $0 }
            guard !text.isEmpty else { return context.close(promise: nil) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
    }
}
