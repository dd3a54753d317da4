import Foundation
import NIOCore
import NIOHTTP1
import ServiceHost
import SocketIO
import Wire

extension SocketIOServer {
    /// The maximum bytes of a packet before its client has signed in.
    private static let unauthenticatedPayload = 65_536
    /// One address may hold 1/64 of all sockets with clients that have not signed in.
    private static let shareOfAddress = 64

    /// Creates the server of this service's sockets.
    convenience init(_ settings: ConversationsConfiguration) {
        var configuration = SocketIOConfiguration(
            pingInterval: settings.pingInterval,
            pingTimeout: settings.pingTimeout,
            connectTimeout: settings.authenticateTimeout,
            maxPayload: Self.unauthenticatedPayload
        )
        configuration.announcedMaxPayload = settings.socketPayload
        configuration.origins = settings.corsOrigins.contains("*") ? .any : .only(Set(settings.corsOrigins))
        configuration.limits.connections = settings.maximumSockets
        configuration.limits.unjoinedPerKey = max(1, settings.maximumSockets / Self.shareOfAddress)
        let gateway = settings.gatewayAddresses
        configuration.unjoinedKey = { Self.network(of: $0, from: $1, behind: gateway) }
        configuration.limits.payloadBytes = settings.socketPayloads
        configuration.limits.bufferedBytes = settings.socketBuffer
        // An event is an array around its payload, whose depth `WireJSON` checks.
        configuration.limits.depth = JSONValidator.maximumDepth + 8
        let own = Base64URL.random(bytes: 5).prefix(Self.tagLength)
        configuration.sessionTag = { Self.tag($0) ?? String(own) }
        self.init(configuration: configuration)
    }

    /// Returns the client's address (for IPv6, its /64); nil for a client on this machine, which has no limit.
    private static func network(
        of head: HTTPRequestHead,
        from peer: SocketAddress?,
        behind gateway: AddressRanges
    ) -> String? {
        let peer = peer?.ipAddress.flatMap { IPAddress($0) }
        let client = gateway.client(of: peer, forwardedFor: head.headers["x-forwarded-for"])
        guard let client, !AddressRanges.loopback.contains(client) else { return nil }
        return client.network.base64EncodedString()
    }

    private static let tagLength = 6

    /// Returns the gateway's name for this instance, by which it routes later requests of a session here.
    private static func tag(_ head: HTTPRequestHead) -> String? {
        guard let tag = head.headers.first(name: "x-roost-instance"), tag.utf8.count == tagLength,
            tag.utf8.allSatisfy({ Base64URL.isDigit($0) })
        else { return nil }
        return tag
    }

    /// Installs the socket server before the routes of the service.
    var gate: ConnectionGate {
        ConnectionGate(
            install: { channel, next, taken in
                let gate = SocketIOGate(self, next: next) { use in if use == .webSocket { taken() } }
                try channel.pipeline.syncOperations.addHandler(gate)
            },
            close: { await self.close() }
        )
    }
}
