import Foundation
import NIOCore
import NIOPosix

/// One HTTP message as it stood on the wire, read without mercy for either side.
struct RawMessage: Sendable {
    var startLine: String
    var fields: [(name: String, value: String)]
    var body: [UInt8] = []
    var trailers: [(name: String, value: String)] = []

    var status: Int { Int(startLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
    var method: String { String(startLine.split(separator: " ").first ?? "") }
    var target: String { String(startLine.split(separator: " ").dropFirst().first ?? "") }
    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The `code` of a problem document.
    var code: String? {
        struct Problem: Decodable { let code: String }
        return (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.code
    }

    /// A message as text, as the echoing service writes what it got into its answer's body.
    init(parsing text: String) {
        let parts = text.components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        startLine = lines[0]
        fields = lines.dropFirst().map(Self.field)
        body = Array(parts.dropFirst().joined(separator: "\r\n\r\n").utf8)
    }

    var head: String {
        ([startLine] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\r\n")
    }

    static func field(_ line: String) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: ":") else { return (line, "") }
        return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
}

struct WireError: Error {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A TCP connection, in bytes; used by one task.
final class RawConnection {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    let channel: any Channel
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var buffered = ByteBuffer()
    /// Whether the connection ended by a reset.
    private(set) var wasReset = false

    init(
        channel: any Channel,
        inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.channel = channel
        self.inbound = inbound.makeAsyncIterator()
        self.outbound = outbound
    }

    func send(_ text: String) async throws {
        try await outbound.write(ByteBuffer(string: text))
    }

    func send(_ bytes: [UInt8]) async throws {
        try await outbound.write(ByteBuffer(bytes: bytes))
    }

    /// Ends the sending half.
    func finishSending() {
        outbound.finish()
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
        do {
            guard var buffer = try await inbound.next() else { return false }
            buffered.writeBuffer(&buffer)
            return true
        } catch {
            wasReset = true
            return false
        }
    }

    /// All that comes until the end.
    func rest() async throws -> String {
        while try await more() {}
        return buffered.readString(length: buffered.readableBytes) ?? ""
    }

    /// The next `count` bytes.
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

    private func bytes(_ count: Int) async throws -> [UInt8] {
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
    func message(toHead isAnswerToHead: Bool = false) async throws -> RawMessage? {
        guard var message = try await head() else { return nil }
        try await readBody(of: &message, toHead: isAnswerToHead)
        return message
    }

    func readBody(of message: inout RawMessage, toHead isAnswerToHead: Bool = false) async throws {
        if isAnswerToHead || [204, 304].contains(message.status) || (100..<200).contains(message.status) { return }
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

extension RawConnection {
    /// Connects for the time of `body`.
    static func open<Answer>(
        port: Int,
        _ body: (RawConnection) async throws -> Answer
    ) async throws -> Answer {
        let stream = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try Stream.halfClosing(channel) }
            }
        return try await stream.executeThenClose { inbound, outbound in
            try await body(RawConnection(channel: stream.channel, inbound: inbound, outbound: outbound))
        }
    }
}

extension NIOAsyncChannel<ByteBuffer, ByteBuffer> {
    static func halfClosing(_ channel: any Channel) throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
    }
}
