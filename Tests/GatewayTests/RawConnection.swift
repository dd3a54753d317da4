import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A TCP connection that sends and reads raw bytes; used by one task.
final class RawConnection {
    let channel: any Channel
    private let reader: RawReader
    private var buffered = ByteBuffer()

    init(channel: any Channel, reader: RawReader) {
        self.channel = channel
        self.reader = reader
    }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Closes the sending half.
    func finishSending() {
        channel.close(mode: .output, promise: nil)
    }

    func close() async throws {
        try await channel.close().get()
    }

    /// The next piece; nil at the end.
    func piece() async throws -> [UInt8]? {
        if buffered.readableBytes == 0, try await !more() { return nil }
        return buffered.readBytes(length: buffered.readableBytes)
    }

    private func more() async throws -> Bool {
        let next = channel.eventLoop.flatSubmit { [channel, reader] in reader.next(on: channel.eventLoop) }
        guard var piece = try await next.get() else { return false }
        buffered.writeBuffer(&piece)
        return true
    }

    /// Everything until the end.
    func rest() async throws -> String {
        while try await more() {}
        return buffered.readString(length: buffered.readableBytes) ?? ""
    }

    /// The other side's certificate, in DER.
    func certificate() async throws -> [UInt8]? {
        try await channel.nioSSL_peerCertificate().map { try? $0?.toDERBytes() }.get()
    }

    /// The next `count` bytes as text.
    func text(_ count: Int) async throws -> String {
        String(decoding: try await bytes(count), as: UTF8.self)
    }

    /// One line without its CRLF; nil at the end.
    private func line() async throws -> String? {
        while true {
            if let end = buffered.readableBytesView.firstIndex(of: 0x0A) {
                let line = buffered.readBytes(length: end - buffered.readerIndex + 1) ?? []
                return String(decoding: line.dropLast(line.suffix(2) == [0x0D, 0x0A] ? 2 : 1), as: UTF8.self)
            }
            guard try await more() else { return nil }
        }
    }

    func bytes(_ count: Int) async throws -> [UInt8] {
        while buffered.readableBytes < count {
            guard try await more() else {
                throw WireError("\(buffered.readableBytes) of \(count) bytes, then the end")
            }
        }
        defer { buffered.discardReadBytes() }
        return buffered.readBytes(length: count) ?? []
    }

    /// The head of the next message; nil if the connection ended before it.
    func head() async throws -> RawMessage? {
        guard let start = try await line() else { return nil }
        var message = RawMessage(parsing: start)
        while let line = try await line(), !line.isEmpty { message.fields.append(RawMessage.field(line)) }
        return message
    }

    /// The next message with its body; nil if the connection ended before it.
    func message(toHead isResponseToHead: Bool = false) async throws -> RawMessage? {
        guard var message = try await head() else { return nil }
        try await readBody(of: &message, toHead: isResponseToHead)
        return message
    }

    func readBody(of message: inout RawMessage, toHead isResponseToHead: Bool = false) async throws {
        if isResponseToHead || [204, 304].contains(message.status) || (100..<200).contains(message.status) { return }
        if message["transfer-encoding"].contains("chunked") {
            while let line = try await line() {
                guard let size = Int(line.split(separator: ";")[0], radix: 16) else { throw WireError("chunk \(line)") }
                guard size > 0 else {
                    while let line = try await self.line(), !line.isEmpty {
                        message.trailers.append(RawMessage.field(line))
                    }
                    return
                }
                message.body += try await bytes(size)
                _ = try await bytes(2)
            }
            throw WireError("the end inside a chunked body")
        } else if let length = message["content-length"].first.flatMap({ Int($0) }) {
            message.body = try await bytes(length)
        } else if message.startLine.hasPrefix("HTTP/") {
            message.body = Array(try await rest().utf8)
        }
    }
}

/// The clients' TLS contexts, made once for all tests, because making one is slow.
private enum ClientTLS {
    private struct Key: Hashable {
        let protocols: [String]
        let version: TLSVersion
    }

    private static let made = Mutex<[Key: NIOSSLContext]>([:])

    static func context(for protocols: [String], upTo version: TLSVersion) throws -> NIOSSLContext {
        try made.withLock { made in
            let key = Key(protocols: protocols, version: version)
            if let context = made[key] { return context }
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates([])
            configuration.certificateVerification = .none
            configuration.applicationProtocols = protocols
            configuration.minimumTLSVersion = .tlsv1
            configuration.maximumTLSVersion = version
            let context = try NIOSSLContext(configuration: configuration)
            made[key] = context
            return context
        }
    }
}

extension RawConnection {
    /// A channel that is open until it is closed; a task that uses it makes the connection.
    struct Opened: Sendable {
        let channel: any Channel
        private let reader: RawReader

        /// Connects, optionally from another address of the loopback network, and over TLS if ALPN protocols are given.
        init(
            port: Int,
            from address: String? = nil,
            over protocols: [String]? = nil,
            upTo version: TLSVersion = .tlsv13
        ) async throws {
            let tls = try protocols.map { try ClientTLS.context(for: $0, upTo: version) }
            let group = MultiThreadedEventLoopGroup.singleton.next()
            let reader = RawReader(eventLoop: group)
            var bootstrap = ClientBootstrap(group: group)
            if let address { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0)) }
            channel =
                try await bootstrap
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelOption(.autoRead, value: false)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let tls {
                            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                        }
                        try pipeline.addHandler(reader)
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .get()
            self.reader = reader
            // The TLS handshake must read before the first call to read.
            if tls != nil { channel.read() }
        }

        func connection() -> RawConnection { RawConnection(channel: channel, reader: reader) }
    }

    /// Connects while `body` runs, over TLS if ALPN protocols are given.
    static func open<Value>(
        port: Int,
        from address: String? = nil,
        over protocols: [String]? = nil,
        upTo version: TLSVersion = .tlsv13,
        _ body: (RawConnection) async throws -> Value
    ) async throws -> Value {
        let opened = try await Opened(port: port, from: address, over: protocols, upTo: version)
        defer { opened.channel.close(promise: nil) }
        return try await body(opened.connection())
    }
}
