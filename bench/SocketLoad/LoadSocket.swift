import NIOCore

/// A Socket.IO 5 client over WebSocket that reads only a frame's header, its first bytes and its timestamp.
///
/// Unchecked: only the channel's event loop accesses the client.
final class LoadSocket: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Stage {
        case upgrading
        case entering
        case ready
    }

    private static let connected = Array("40".utf8)
    private static let refused = Array("44".utf8)
    private static let acknowledgement = Array("43".utf8)
    private static let good = Array(#""code":200"#.utf8)
    private static let ping = UInt8(ascii: "2")

    private let clientPool: ClientPool
    private let connect: String
    private let join: String?
    private let readyPrefix: [UInt8]?
    private let expect: [UInt8]
    private var stage = Stage.upgrading
    private var rest = ByteBuffer()
    private var context: ChannelHandlerContext?

    init(clientPool: ClientPool, connect: String, join: String?, ready: [UInt8]?) {
        self.clientPool = clientPool
        self.connect = connect
        self.join = join
        readyPrefix = ready
        expect = clientPool.plan.expect
    }

    // MARK: Sending

    func write(_ text: String) {
        context?.write(wrapOutboundOut(Self.frame(text)), promise: nil)
    }

    func flush() {
        context?.flush()
    }

    private func send(_ text: String) {
        write(text)
        flush()
    }

    /// Returns a text frame with a mask of zeros, which satisfies the protocol and needs no work.
    private static func frame(_ text: String) -> ByteBuffer {
        var frame = ByteBuffer()
        let count = text.utf8.count
        precondition(count < 65_536)
        if count < 126 {
            frame.writeMultipleIntegers(UInt8(0x81), UInt8(0x80 | count), UInt32(0))
        } else {
            frame.writeMultipleIntegers(UInt8(0x81), UInt8(0xfe), UInt16(count), UInt32(0))
        }
        frame.writeString(text)
        return frame
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        let request =
            "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:\(clientPool.plan.port)\r\n"
            + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ClientPool.fail("a client was disconnected")
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        ClientPool.fail("a client failed: \(error)")
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if rest.readableBytes > 0 {
            rest.writeBuffer(&bytes)
            bytes = rest
        }
        if stage == .upgrading, !readHead(&bytes) {
            rest = bytes
            return
        }
        let used = bytes.withUnsafeReadableBytes { scan($0) }
        bytes.moveReaderIndex(forwardBy: used)
        rest = bytes.readableBytes > 0 ? bytes : ByteBuffer()
    }

    private func readHead(_ bytes: inout ByteBuffer) -> Bool {
        let view = bytes.readableBytesView
        guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        guard view.starts(with: "HTTP/1.1 101".utf8) else {
            ClientPool.fail("no WebSocket: \(String(decoding: view.prefix(300), as: UTF8.self))")
        }
        bytes.moveReaderIndex(to: end.upperBound)
        stage = .entering
        return true
    }

    /// Processes the complete frames, and returns their size in bytes.
    private func scan(_ bytes: UnsafeRawBufferPointer) -> Int {
        var at = 0
        var received = 0
        let now = NIODeadline.now().uptimeNanoseconds
        while let (begin, end) = Self.frame(bytes, at) {
            guard bytes[at] == 0x81 else { ClientPool.fail("received a frame that is not text: \(bytes[at])") }
            let payload = UnsafeRawBufferPointer(rebasing: bytes[begin..<end])
            if stage == .ready, !expect.isEmpty, Self.begins(payload, expect) {
                received += 1
                note(payload, now)
            } else {
                handle(payload)
            }
            at = end
        }
        if received > 0 { clientPool.received(received) }
        return at
    }

    /// Returns the bounds of the payload of the frame at an offset, or nil when the frame is incomplete.
    private static func frame(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> (Int, Int)? {
        guard at + 2 <= bytes.count else { return nil }
        var begin = at + 2
        var length = Int(bytes[at + 1])
        if length == 126 {
            begin += 2
            guard begin <= bytes.count else { return nil }
            length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
        } else if length > 126 {
            ClientPool.fail("received a frame of more than 65,535 bytes")
        }
        return begin + length <= bytes.count ? (begin, begin + length) : nil
    }

    private static func begins(_ payload: UnsafeRawBufferPointer, _ prefix: [UInt8]) -> Bool {
        guard payload.count >= prefix.count else { return false }
        for index in prefix.indices where payload[index] != prefix[index] { return false }
        return true
    }

    /// Records the latency from the timestamp after `@@`.
    private func note(_ payload: UnsafeRawBufferPointer, _ now: UInt64) {
        var at = 0
        let sign = UInt8(ascii: "@")
        while at + 18 <= payload.count, payload[at] != sign || payload[at + 1] != sign { at += 1 }
        guard at + 18 <= payload.count else { ClientPool.fail("received a message without a timestamp") }
        var time: UInt64 = 0
        for index in at + 2..<at + 18 { time = time &* 10 &+ UInt64(payload[index] &- 48) }
        clientPool.delayed(now > time ? now - time : 0)
    }

    /// Handles the rare packets: pings, refusals, joins and acknowledgements.
    private func handle(_ payload: UnsafeRawBufferPointer) {
        if payload.first == Self.ping { return send("3") }
        if Self.begins(payload, Self.refused) {
            ClientPool.fail("the server refused the connection: \(String(decoding: payload, as: UTF8.self))")
        }
        if stage == .entering {
            join(payload)
        } else if Self.begins(payload, Self.acknowledgement) {
            guard payload.firstRange(of: Self.good) != nil else {
                ClientPool.fail("the server rejected an event: \(String(decoding: payload, as: UTF8.self))")
            }
            clientPool.acknowledged()
        }
    }

    private func join(_ payload: UnsafeRawBufferPointer) {
        if payload.first == UInt8(ascii: "0") { return send(connect) }
        if Self.begins(payload, Self.connected) {
            if let join { send(join) }
            if readyPrefix == nil { becomeReady() }
        } else if let readyPrefix, Self.begins(payload, readyPrefix) {
            becomeReady()
        }
    }

    private func becomeReady() {
        stage = .ready
        clientPool.isReady()
    }
}
