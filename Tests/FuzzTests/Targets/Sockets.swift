import NIOCore
@testable import SocketIO
@testable import SocketIOClient

extension FuzzTarget {
    static let sockets = [socketPacket, socketClientPacket, pollingPayload, webSocketFrames]

    static let socketPacket = FuzzTarget("socket-packet") { bytes in
        // Silence: most inputs are no packet.
        guard let packet = try? IncomingPacket(ByteBuffer(bytes: bytes), limits: SocketIOLimits()) else { return }
        switch packet.content {
        case .event(_, let arguments), .acknowledgement(let arguments):
            let count = JSONScanner.count(arguments)
            precondition(count == 0 || JSONScanner.element(count - 1, of: arguments) != nil)
        case .connect, .disconnect: break
        }
    }

    /// A packet of a server to the client of `roost chat`.
    static let socketClientPacket = FuzzTarget("socket-client-packet") { bytes in _ = try? Packet(bytes) }

    /// The first byte chooses the revision and the kind of the body.
    static let pollingPayload = FuzzTarget("polling-payload") { bytes in
        guard let first = bytes.first else { return }
        let isBinary = first & 1 != 0
        let body = ByteBuffer(bytes: bytes.dropFirst())
        guard isBinary || UTF8Check.isWellFormed(body) else { return }
        var reader = PollingPayloadReader(body, revision: first & 2 == 0 ? .three : .four, isBinary: isBinary)
        var taken = 0
        // Silence: parsing ends at a malformed packet.
        while let packet = try? reader.next() {
            taken += packet.length
            precondition(taken <= bytes.count, "packets have more bytes than the body")
        }
    }

    /// Frames in pieces, whose length the first byte determines.
    static let webSocketFrames = FuzzTarget("websocket-frames") { bytes in
        guard let first = bytes.first else { return }
        let ledger = PayloadLedger(limit: 4 << 20)
        var decoder = FrameDecoder()
        var input = ByteBuffer()
        var rest = bytes.dropFirst()
        let length = max(1, Int(first) * 16)
        while !rest.isEmpty {
            input.writeBytes(rest.prefix(length))
            rest = rest.dropFirst(length)
            do {
                while let message = try decoder.next(&input, limit: 1 << 20, ledger: ledger) {
                    guard case .message(let message) = message, case .text(let text) = message.content else { continue }
                    precondition(UTF8Check.isWellFormed(text))
                }
            } catch {
                return
            }
            precondition(input.readableBytes < 14, "more than an incomplete header is left")
        }
    }
}
