import NIOCore

extension ByteBuffer {
    /// Writes the header of a final, unmasked frame.
    mutating func writeFrameHeader(_ opcode: FrameOpcode, length: Int) {
        let first = 0x80 | opcode.rawValue
        switch length {
        case ..<126: writeInteger(UInt16(first) << 8 | UInt16(length))
        case ..<65_536: writeMultipleIntegers(first, UInt8(126), UInt16(length))
        default: writeMultipleIntegers(first, UInt8(127), UInt64(length))
        }
    }

    /// Returns an unmasked frame with the payload.
    static func frame(_ opcode: FrameOpcode, _ payload: ByteBuffer) -> ByteBuffer {
        var frame = ByteBuffer()
        frame.reserveCapacity(payload.readableBytes + 10)
        frame.writeFrameHeader(opcode, length: payload.readableBytes)
        frame.writeImmutableBuffer(payload)
        return frame
    }
}

/// The frame opcodes that a server sends (RFC 6455).
enum FrameOpcode: UInt8 {
    case text = 1
    case binary = 2
    case close = 8
    case pong = 10
}
