import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A connection to a mail server.
struct SMTPConnection: Sendable {
    private let channel: any Channel
    private let handler: NIOLoopBound<SMTPReplyHandler>
    private let configuration: SMTPConfiguration

    /// Connects without sending anything.
    static func open(
        _ configuration: SMTPConfiguration,
        tls: NIOSSLContext,
        on group: any EventLoopGroup
    ) async throws -> SMTPConnection {
        do {
            return try await ClientBootstrap(group: group)
                .connectTimeout(configuration.connectTimeout)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: configuration.host, port: configuration.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if configuration.encryption == .implicit {
                            try pipeline.addHandler(Self.encryption(of: configuration, by: tls))
                        }
                        // The handler is retained here: a server that is not a mail server may disconnect before the
                        // first reply is requested.
                        let handler = SMTPReplyHandler()
                        try pipeline.addHandler(handler)
                        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
                        return SMTPConnection(channel: channel, handler: bound, configuration: configuration)
                    }
                }
        } catch is NIOConnectionError {
            throw SMTPError.unreachable("connecting failed")
        } catch is ChannelError {
            throw SMTPError.unreachable("connecting timed out")
        }
    }

    /// Returns a TLS handler that verifies the certificate for the host name, or for the IP address.
    private static func encryption(
        of configuration: SMTPConfiguration,
        by tls: NIOSSLContext
    ) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: configuration.host, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : configuration.host)
    }

    /// Waits for the next reply without sending a command.
    func reply(within limit: TimeAmount? = nil) async throws -> SMTPReply {
        let limit = limit ?? configuration.replyTimeout
        return try await channel.eventLoop.flatSubmit { [handler, channel] in
            Self.next(of: handler.value, in: channel, within: limit)
        }.get()
    }

    /// Sends a command and waits for the reply.
    func command(_ line: String) async throws -> SMTPReply {
        try await send(Array("\(line)\r\n".utf8), within: configuration.replyTimeout)
    }

    /// Sends a message's lines and the final dot.
    ///
    /// - Throws: `SMTPError.unknownOutcome` if no reply arrives.
    func content(_ bytes: [UInt8]) async throws -> SMTPReply {
        do {
            return try await send(Self.dotStuffed(bytes), within: configuration.contentTimeout)
        } catch is SMTPError {
            throw SMTPError.unknownOutcome
        }
    }

    private func send(_ bytes: [UInt8], within limit: TimeAmount) async throws -> SMTPReply {
        try await channel.eventLoop.flatSubmit { [handler, channel] in
            // The promise is created before writing, because the reply may arrive immediately.
            let reply = Self.next(of: handler.value, in: channel, within: limit)
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
            return reply
        }.get()
    }

    private static func next(
        of handler: SMTPReplyHandler,
        in channel: any Channel,
        within limit: TimeAmount
    ) -> EventLoopFuture<SMTPReply> {
        do {
            let context = try channel.pipeline.syncOperations.context(handler: handler)
            return handler.next(within: limit, in: context)
        } catch {
            // The handler was removed when the connection closed, possibly before the first reply was requested.
            return channel.eventLoop.makeFailedFuture(
                handler.failure ?? SMTPError.unreachable("the server closed the connection")
            )
        }
    }

    /// Starts TLS after the server has accepted `STARTTLS`.
    func encrypt(by tls: NIOSSLContext) async throws {
        let configuration = configuration
        try await channel.eventLoop.submit { [handler, channel] in
            guard handler.value.hasNoPendingData else {
                throw SMTPError.insecure("data arrived before encryption began")
            }
            let encryption = try Self.encryption(of: configuration, by: tls)
            try channel.pipeline.syncOperations.addHandler(encryption, position: .first)
        }.get()
    }

    /// The client's address as a literal for `EHLO` (RFC 5321, section 4.1.3).
    var addressLiteral: String {
        guard let address = channel.localAddress, let text = address.ipAddress else { return "[127.0.0.1]" }
        return address.protocol == .inet6 ? "[IPv6:\(text)]" : "[\(text)]"
    }

    /// Sends `QUIT` and closes the connection without waiting for the reply.
    func close() async {
        channel.writeAndFlush(ByteBuffer(string: "QUIT\r\n"), promise: nil)
        // An error means that the connection is already closed.
        try? await channel.close().get()
    }

    /// Returns the lines with leading dots doubled, and the final dot (RFC 5321, section 4.5.2).
    static func dotStuffed(_ bytes: [UInt8]) -> [UInt8] {
        var dotStuffed: [UInt8] = []
        dotStuffed.reserveCapacity(bytes.count + 16)
        var isLineStart = true
        for byte in bytes {
            if isLineStart, byte == UInt8(ascii: ".") { dotStuffed.append(byte) }
            dotStuffed.append(byte)
            isLineStart = byte == UInt8(ascii: "\n")
        }
        return dotStuffed + Array((isLineStart ? ".\r\n" : "\r\n.\r\n").utf8)
    }
}
