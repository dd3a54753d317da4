import NIOCore

/// Reads the frame headers of an HTTP/2 connection in both directions.
///
/// The HTTP/2 handler does not report two facts: that it ended the connection with an error, and that a client sends
/// useless frames.
final class FrameMeter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The error for more WINDOW_UPDATE frames, or frames of unknown types, than a connection can need.
    struct FrameFlood: Error {}

    private enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let lastDefined: UInt8 = 9
    }

    private static let preface = 24
    private static let header = 9

    private(set) var hasSentError = false
    /// The number of useless frames that are still allowed; each HEADERS or DATA frame raises it by ten.
    private var idleFrames = 1_000
    /// The number of bytes before the next frame header.
    private var skipped = FrameMeter.preface
    /// The first bytes of an incomplete frame header.
    private var partial: [UInt8] = []
    private var isPayloadNext = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        measure(Self.unwrapInboundIn(data))
        guard idleFrames >= 0 else {
            context.fireErrorCaught(FrameFlood())
            return
        }
        context.fireChannelRead(data)
    }

    private func measure(_ bytes: ByteBuffer) {
        var view = bytes.readableBytesView[...]
        while !view.isEmpty {
            let leap = min(skipped, view.count)
            skipped -= leap
            view = view.dropFirst(leap)
            let missing = min(Self.header - partial.count, view.count)
            guard skipped == 0, missing > 0 else { continue }
            if partial.isEmpty, missing == Self.header {
                count(view.prefix(Self.header))
            } else {
                partial += view.prefix(missing)
                if partial.count == Self.header {
                    count(partial[...])
                    partial.removeAll(keepingCapacity: true)
                }
            }
            view = view.dropFirst(missing)
        }
    }

    private func count(_ header: some Collection<UInt8>) {
        var length = 0
        var kind: UInt8 = 0
        for (index, byte) in header.enumerated() where index < 4 {
            if index < 3 { length = length << 8 | Int(byte) } else { kind = byte }
        }
        skipped = length
        switch kind {
        case Kind.windowUpdate, (Kind.lastDefined + 1)...: idleFrames -= 1
        case Kind.headers: idleFrames += 10
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        inspect(Self.unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }

    /// Inspects a write; each write begins a frame, except the payload of the frame before.
    private func inspect(_ frame: ByteBuffer) {
        let start = frame.readerIndex
        guard !isPayloadNext, let kind = frame.getInteger(at: start + 3, as: UInt8.self) else {
            isPayloadNext = false
            return
        }
        let length = frame.getBytes(at: start, length: 3)?.reduce(0) { $0 << 8 | Int($1) } ?? 0
        isPayloadNext = frame.readableBytes < Self.header + length
        switch kind {
        // The client sends WINDOW_UPDATE frames for the data that it receives.
        case Kind.data: idleFrames += 10
        case Kind.goAway:
            let code = frame.getInteger(at: start + Self.header + 4, as: UInt32.self) ?? 0
            if code != 0 { hasSentError = true }
        default: break
        }
    }
}
