import NIOCore

/// The state of a connection that uses long polling.
struct PollingTransport {
    /// A POST whose body is being parsed.
    struct Post {
        let exchange: PendingRequest
        var reader: PollingPayloadReader
        let lease: PayloadLease?
    }

    /// An upgrade in progress.
    struct Probe {
        let webSocket: WebSocketHandler
        var isConfirmed = false
        let deadline: NIODeadline
        /// The earliest time to answer an empty poll with a noop, so that the client can stop polling.
        var noopAt: NIODeadline
    }

    let acceptsBinary: Bool
    var poll: PendingRequest?
    var post: Post?
    var probe: Probe?
    /// The largest number of packets in a response; python-engineio rejects more.
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

    /// Removes and returns the packets of one response.
    ///
    /// Revision 3 counts lengths in UTF-16 units, python-engineio 3 in characters; they differ outside the basic plane.
    /// The last packet of a response tolerates a length that is too large, so such a packet ends the response.
    mutating func dequeuePackets(for revision: EngineRevision) -> [PollingPacket] {
        var packets: [PollingPacket] = []
        for packet in queue.prefix(Self.packetsPerResponse) {
            packets.append(packet)
            if revision == .three, packet.isBeyondBasicPlane { break }
        }
        queue.removeFirst(packets.count)
        queuedBytes -= packets.reduce(0) { $0 + $1.length }
        return packets
    }

    /// Returns the waiting poll and clears it.
    mutating func dequeuePoll() -> PendingRequest? {
        defer { poll = nil }
        return poll
    }
}
