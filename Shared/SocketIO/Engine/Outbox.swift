import NIOCore

/// The frames to write to a WebSocket at the end of a tick.
///
/// A single buffer, such as a room's, is passed on without a copy. Small buffers are merged, so that each socket has
/// one write per tick.
struct Outbox: Sendable {
    private static let copied = 16_384

    private var first = ByteBuffer()
    private var more: [ByteBuffer] = []
    /// Whether the last buffer belongs to this socket alone and may grow.
    private var ownsLast = false
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }

    mutating func append(_ shared: ByteBuffer) {
        let count = shared.readableBytes
        guard count > 0 else { return }
        if bytes == 0 {
            first = shared
            ownsLast = false
        } else if more.isEmpty, first.readableBytes + count <= Self.copied {
            withOwnLast(adding: count) { $0.writeImmutableBuffer(shared) }
        } else if let last = more.last, last.readableBytes + count <= Self.copied {
            withOwnLast(adding: count) { $0.writeImmutableBuffer(shared) }
        } else {
            more.append(shared)
            ownsLast = false
        }
        bytes += count
    }

    /// Writes a packet as a text frame.
    mutating func append(textOf packet: OutgoingPacket) {
        let count = packet.textLength
        if bytes > 0, (more.last ?? first).readableBytes + count <= Self.copied {
            let before = (more.last ?? first).readableBytes
            withOwnLast(adding: count + 10) { packet.writeTextFrame(into: &$0) }
            bytes += (more.last ?? first).readableBytes - before
        } else {
            var frame = ByteBuffer()
            packet.writeTextFrame(into: &frame)
            append(frame)
            ownsLast = true
        }
    }

    private mutating func withOwnLast(adding count: Int, _ body: (inout ByteBuffer) -> Void) {
        if more.isEmpty {
            if !ownsLast { first = Self.copy(first, adding: count) }
            body(&first)
        } else {
            if !ownsLast { more[more.count - 1] = Self.copy(more[more.count - 1], adding: count) }
            body(&more[more.count - 1])
        }
        ownsLast = true
    }

    private static func copy(_ shared: ByteBuffer, adding count: Int) -> ByteBuffer {
        var copy = ByteBuffer()
        copy.reserveCapacity(max(512, shared.readableBytes + count))
        copy.writeImmutableBuffer(shared)
        return copy
    }

    /// Calls the closure for each buffer, in order.
    func forEach(_ body: (ByteBuffer) -> Void) {
        guard bytes > 0 else { return }
        body(first)
        for buffer in more { body(buffer) }
    }

    /// Returns the content and empties the outbox.
    ///
    /// The caller writes only afterwards, because writing may re-enter the outbox.
    mutating func drain() -> Outbox {
        defer { self = Outbox() }
        return self
    }
}
