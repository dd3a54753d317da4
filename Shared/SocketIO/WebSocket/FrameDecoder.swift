import NIOCore

/// A violation in a client's frames; the raw value is the close code (RFC 6455, section 7.4).
enum FrameFault: UInt16, Error {
    case protocolError = 1002
    case invalidText = 1007
    case tooLarge = 1009
    /// The memory for large messages is exhausted (registered with IANA).
    case tryAgainLater = 1013
}

/// A decoder of client frames (RFC 6455, section 5).
///
/// Payloads are unmasked as they arrive, so an incomplete message takes no more memory than its bytes.
struct FrameDecoder {
    enum Message {
        case message(WebSocketMessage)
        case ping(ByteBuffer)
        case pong
        /// The client's close code, if present.
        case close(UInt16?)
    }

    private enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue >= 8 }
    }

    private struct Frame {
        var opcode: Opcode
        var isFinal: Bool
        var mask: UInt32
        var length: Int
        var remaining: Int
    }

    private var frame: Frame?
    /// The opcode of a fragmented message.
    private var kind: Opcode?
    private var message = ByteBuffer()
    private var lease: PayloadLease?
    private var control = ByteBuffer()

    /// Returns the next complete message; nil if it needs more bytes.
    ///
    /// Then at most a partial header is left in `input`.
    mutating func next(_ input: inout ByteBuffer, limit: Int, ledger: PayloadLedger) throws(FrameFault) -> Message? {
        while true {
            if frame == nil {
                guard let header = try Self.header(&input) else { return nil }
                try begin(header, limit: limit, ledger)
            }
            guard let done = readPayload(&input) else { return nil }
            if let message = try finish(done) { return message }
        }
    }

    private static func header(_ input: inout ByteBuffer) throws(FrameFault) -> Frame? {
        let at = input.readerIndex
        guard let start: UInt16 = input.getInteger(at: at) else { return nil }
        // The reserved bits must be zero, since no extension was negotiated. Clients must mask their frames.
        guard start & 0x7000 == 0, start & 0x80 != 0, let opcode = Opcode(rawValue: UInt8(start >> 8 & 15)) else {
            throw .protocolError
        }
        var length = Int(start & 0x7f)
        var size = 2
        if length == 126 {
            guard let longer: UInt16 = input.getInteger(at: at + 2) else { return nil }
            length = Int(longer)
            size = 4
            if length < 126 { throw .protocolError }
        } else if length == 127 {
            guard let longer: UInt64 = input.getInteger(at: at + 2) else { return nil }
            guard longer > 0xffff, let fitting = Int(exactly: longer) else { throw .protocolError }
            length = fitting
            size = 10
        }
        guard let mask: UInt32 = input.getInteger(at: at + size) else { return nil }
        input.moveReaderIndex(forwardBy: size + 4)
        return Frame(opcode: opcode, isFinal: start & 0x8000 != 0, mask: mask, length: length, remaining: length)
    }

    private mutating func begin(_ header: Frame, limit: Int, _ ledger: PayloadLedger) throws(FrameFault) {
        if header.opcode.isControl {
            guard header.isFinal, header.length <= 125 else { throw .protocolError }
            control = ByteBuffer()
        } else {
            guard (header.opcode == .continuation) == (kind != nil) else { throw .protocolError }
            // Subtraction cannot overflow here: both operands are non-negative, and an addition might.
            guard header.length <= limit - message.readableBytes else { throw .tooLarge }
            try reserve(message.readableBytes + header.length, of: ledger)
            if kind == nil { kind = header.opcode }
        }
        frame = header
    }

    private mutating func reserve(_ length: Int, of ledger: PayloadLedger) throws(FrameFault) {
        guard length > PayloadLedger.small else { return }
        let lease = lease ?? PayloadLease(ledger)
        self.lease = lease
        guard lease.cover(length) else { throw .tryAgainLater }
    }

    /// Consumes payload bytes; returns the frame when it is complete.
    private mutating func readPayload(_ input: inout ByteBuffer) -> Frame? {
        guard var current = frame else { return nil }
        let count = min(current.remaining, input.readableBytes)
        if count > 0, let bytes = input.readSlice(length: count) {
            let offset = current.length - current.remaining
            if current.opcode.isControl {
                control.writeUnmasked(bytes, mask: current.mask, offset: offset)
            } else {
                message.writeUnmasked(bytes, mask: current.mask, offset: offset)
            }
            current.remaining -= count
        }
        frame = current.remaining == 0 ? nil : current
        return current.remaining == 0 ? current : nil
    }

    private mutating func finish(_ done: Frame) throws(FrameFault) -> Message? {
        switch done.opcode {
        case .ping:
            return .ping(control)
        case .pong:
            return .pong
        case .close:
            return .close(try closeCode())
        case .continuation, .text, .binary:
            guard done.isFinal, let kind else { return nil }
            let complete = message
            let lease = lease
            message = ByteBuffer()
            self.kind = nil
            self.lease = nil
            if kind == .binary { return .message(WebSocketMessage(content: .binary(complete), lease: lease)) }
            guard UTF8Check.isWellFormed(complete) else { throw .invalidText }
            return .message(WebSocketMessage(content: .text(complete), lease: lease))
        }
    }

    private mutating func closeCode() throws(FrameFault) -> UInt16? {
        guard control.readableBytes > 0 else { return nil }
        guard let code: UInt16 = control.readInteger() else { throw .protocolError }
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .protocolError
        }
        guard UTF8Check.isWellFormed(control) else { throw .invalidText }
        return code
    }
}

extension ByteBuffer {
    /// Appends a part of a masked payload; `offset` is its position in the payload.
    fileprivate mutating func writeUnmasked(_ masked: ByteBuffer, mask: UInt32, offset: Int) {
        let rotated = offset % 4 == 0 ? mask : mask << (offset % 4 * 8) | mask >> (32 - offset % 4 * 8)
        let pattern = (UInt64(rotated) << 32 | UInt64(rotated)).bigEndian
        let count = masked.readableBytes
        writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            masked.withUnsafeReadableBytes { bytes in
                var index = 0
                while index + 8 <= count {
                    let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ pattern
                    target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
                    index += 8
                }
                var rest = pattern
                while index < count {
                    target[index] = bytes[index] ^ UInt8(truncatingIfNeeded: rest)
                    rest >>= 8
                    index += 1
                }
            }
            return count
        }
    }
}
