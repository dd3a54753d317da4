import NIOCore

/// What a connection has while it polls.
struct PollingTransport {
    /// A body that is being taken apart.
    struct Post {
        let exchange: PendingRequest
        var reader: PollingPayloadReader
        let lease: PayloadLease?
    }

    /// Where an upgrade stands.
    struct Probe {
        let webSocket: WebSocketHandler
        var wasAsked = false
        let deadline: NIODeadline
        /// From when on a poll that has nothing to say is answered, so that the client can stop polling.
        var noopAt: NIODeadline
    }

    let acceptsBinary: Bool
    var poll: PendingRequest?
    var post: Post?
    var probe: Probe?
    /// How many packets an answer may have: python-engineio, for one, takes no more.
    private static let packetsPerResponse = 16

    private(set) var queue: CircularBuffer<PollingPacket> = CircularBuffer(initialCapacity: 0)
    private(set) var queuedBytes = 0

    init(acceptsBinary: Bool) {
        self.acceptsBinary = acceptsBinary
    }

    mutating func append(_ packet: PollingPacket) {
        queue.append(packet)
        queuedBytes += packet.length
    }

    mutating func append(_ packet: OutgoingPacket) {
        if packet.hasText { append(.text(packet.text)) }
        for attachment in packet.attachments { append(.binary(attachment)) }
    }

    /// What goes into one answer.
    ///
    /// Revision 3 counts in UTF-16, python-engineio 3 in characters; they differ outside the basic plane. A length that is
    /// too large does no harm to the last packet of an answer, so such a one is the last.
    mutating func takePackets(for revision: EngineRevision) -> [PollingPacket] {
        var packets: [PollingPacket] = []
        for packet in queue.prefix(Self.packetsPerResponse) {
            packets.append(packet)
            if revision == .three, packet.isBeyondBasicPlane { break }
        }
        queue.removeFirst(packets.count)
        queuedBytes -= packets.reduce(0) { $0 + $1.length }
        return packets
    }

    /// The waiting poll, which waits no more.
    mutating func takePoll() -> PendingRequest? {
        defer { poll = nil }
        return poll
    }
}
