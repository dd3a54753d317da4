import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A connection to a mail server, and what is said on it.
struct SMTPConnection: Sendable {
    private let channel: any Channel
    private let handler: NIOLoopBound<SMTPReplyHandler>
    private let configuration: SMTPConfiguration

    /// Connects; nothing is said yet.
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
                        // Kept from here on: what is no mail server may be gone before anybody asks what it said.
                        let handler = SMTPReplyHandler()
                        try pipeline.addHandler(handler)
                        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
                        return SMTPConnection(channel: channel, handler: bound, configuration: configuration)
                    }
                }
        } catch is NIOConnectionError {
            throw SMTPError.unreachable("no connection")
        } catch is ChannelError {
            throw SMTPError.unreachable("no connection in time")
        }
    }

    /// The certificate must be the host's, or that of its address where it is named by one.
    private static func encryption(
        of configuration: SMTPConfiguration,
        by tls: NIOSSLContext
    ) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: configuration.host, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : configuration.host)
    }

    /// The next reply, without anything said.
    func reply(within limit: TimeAmount? = nil) async throws -> SMTPReply {
        let limit = limit ?? configuration.replyTimeout
        return try await channel.eventLoop.flatSubmit { [handler, channel] in
            Self.next(of: handler.value, in: channel, within: limit)
        }.get()
    }

    /// Says a line, and hears what is said to it.
    func command(_ line: String) async throws -> SMTPReply {
        try await send(Array("\(line)\r\n".utf8), within: configuration.replyTimeout)
    }

    /// Sends a mail's lines and the dot behind them.
    ///
    /// - Throws: `SMTPError.unknownOutcome` where the answer does not come.
    func content(_ bytes: [UInt8]) async throws -> SMTPReply {
        do {
            return try await send(Self.dotStuffed(bytes), within: configuration.contentTimeout)
        } catch is SMTPError {
            throw SMTPError.unknownOutcome
        }
    }

    private func send(_ bytes: [UInt8], within limit: TimeAmount) async throws -> SMTPReply {
        try await channel.eventLoop.flatSubmit { [handler, channel] in
            // Asked for before it is said: the answer may come at once.
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
            // Gone with the connection, perhaps before anybody asked.
            return channel.eventLoop.makeFailedFuture(handler.failure ?? SMTPError.unreachable("the connection ended"))
        }
    }

    /// Encrypts from here on, after the server said that it is ready to.
    func encrypt(by tls: NIOSSLContext) async throws {
        let configuration = configuration
        try await channel.eventLoop.submit { [handler, channel] in
            guard handler.value.isSilent else { throw SMTPError.insecure("something was said before encryption began") }
            let encryption = try Self.encryption(of: configuration, by: tls)
            try channel.pipeline.syncOperations.addHandler(encryption, position: .first)
        }.get()
    }

    /// The address by which the server sees us, as `EHLO` wants it (RFC 5321, section 4.1.3).
    var addressLiteral: String {
        guard let address = channel.localAddress, let text = address.ipAddress else { return "[127.0.0.1]" }
        return address.protocol == .inet6 ? "[IPv6:\(text)]" : "[\(text)]"
    }

    /// Says goodbye, and waits for no answer.
    func close() async {
        channel.writeAndFlush(ByteBuffer(string: "QUIT\r\n"), promise: nil)
        // Closed already is closed.
        try? await channel.close().get()
    }

    /// The lines with a dot before each that begins with one, and the end behind them (RFC 5321, section 4.5.2).
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
