import NIOCore

/// A packet of a polling payload: text that begins with the packet type, or the bytes of a binary message.
enum PollingPacket: Hashable, Sendable {
    case text(ByteBuffer)
    case binary(ByteBuffer)

    var length: Int {
        switch self {
        case .text(let text): text.readableBytes
        case .binary(let bytes): bytes.readableBytes
        }
    }

    /// Whether the text contains a character that takes two UTF-16 units.
    var isBeyondBasicPlane: Bool {
        switch self {
        case .text(let text): text.readableBytesView.contains { $0 >= 0xf0 }
        case .binary: false
        }
    }
}

/// The encoding of packets as the body of a response.
enum PollingPayload {
    /// Encodes packets; also returns whether the body is binary.
    static func encode(
        _ packets: [PollingPacket],
        revision: EngineRevision,
        acceptsBinary: Bool
    ) -> (body: ByteBuffer, isBinary: Bool) {
        switch revision {
        case .four:
            return (separated(packets), false)
        case .three:
            let hasBinary = packets.contains { if case .binary = $0 { true } else { false } }
            return hasBinary && acceptsBinary ? (binary(packets), true) : (counted(packets), false)
        }
    }

    /// Encodes for revision 4: `4hello\u{1e}bAQIDBA==`.
    private static func separated(_ packets: [PollingPacket]) -> ByteBuffer {
        var body = ByteBuffer()
        for (index, packet) in packets.enumerated() {
            if index > 0 { body.writeInteger(UInt8(0x1e)) }
            switch packet {
            case .text(let text): body.writeImmutableBuffer(text)
            case .binary(let bytes):
                body.writeInteger(UInt8(ascii: "b"))
                Base64.encode(bytes, into: &body)
            }
        }
        return body
    }

    /// Encodes as text for revision 3: `6:4hello10:b4AQIDBA==`, with lengths in UTF-16 units.
    private static func counted(_ packets: [PollingPacket]) -> ByteBuffer {
        var body = ByteBuffer()
        for packet in packets {
            switch packet {
            case .text(let text):
                body.writeString("\(UTF16Length.count(text)):")
                body.writeImmutableBuffer(text)
            case .binary(let bytes):
                body.writeString("\(Base64.encodedLength(bytes.readableBytes) + 2):b4")
                Base64.encode(bytes, into: &body)
            }
        }
        return body
    }

    /// Encodes as binary for revision 3: a byte for the kind, the decimal digits of the length in bytes, `ff`, the
    /// packet.
    private static func binary(_ packets: [PollingPacket]) -> ByteBuffer {
        var body = ByteBuffer()
        for packet in packets {
            switch packet {
            case .text(let text):
                body.writeInteger(UInt8(0))
                writeLength(text.readableBytes, into: &body)
                body.writeImmutableBuffer(text)
            case .binary(let bytes):
                body.writeInteger(UInt8(1))
                writeLength(bytes.readableBytes + 1, into: &body)
                body.writeInteger(UInt8(4))
                body.writeImmutableBuffer(bytes)
            }
        }
        return body
    }

    private static func writeLength(_ length: Int, into body: inout ByteBuffer) {
        for digit in String(length).utf8 { body.writeInteger(digit - UInt8(ascii: "0")) }
        body.writeInteger(UInt8(0xff))
    }
}

/// A reader of the packets in a POST body.
struct PollingPayloadReader {
    private var body: ByteBuffer
    private let revision: EngineRevision
    private let isBinary: Bool
    /// The number of packets that may still follow: a body's packets are handled without interruption.
    private var packets: Int

    /// Creates a reader; the body must be well-formed UTF-8 unless it is binary.
    init(_ body: ByteBuffer, revision: EngineRevision, isBinary: Bool, packets: Int = .max) {
        self.body = body
        self.revision = revision
        self.isBinary = isBinary
        self.packets = packets
    }

    /// Returns the next packet, or nil at the end.
    mutating func next() throws(ParseFault) -> PollingPacket? {
        guard body.readableBytes > 0 else { return nil }
        guard packets > 0 else { throw ParseFault() }
        packets -= 1
        switch revision {
        case .four: return try separated()
        case .three: return try isBinary ? binary() : counted()
        }
    }

    private mutating func separated() throws(ParseFault) -> PollingPacket {
        let length = body.readableBytesView.firstIndex(of: 0x1e).map { $0 - body.readerIndex }
        guard let packet = body.readSlice(length: length ?? body.readableBytes) else { throw ParseFault() }
        if length != nil {
            body.moveReaderIndex(forwardBy: 1)
            // An empty packet after a separator is invalid.
            guard body.readableBytes > 0 else { throw ParseFault() }
        }
        return try Self.text(packet, base64Mark: "b")
    }

    private mutating func counted() throws(ParseFault) -> PollingPacket {
        let units = try length(endingAt: UInt8(ascii: ":"), zero: UInt8(ascii: "0"))
        guard let bytes = UTF16Length.bytes(of: units, in: body), let packet = body.readSlice(length: bytes) else {
            throw ParseFault()
        }
        return try Self.text(packet, base64Mark: "b4")
    }

    private mutating func binary() throws(ParseFault) -> PollingPacket {
        guard let kind: UInt8 = body.readInteger(), kind <= 1 else { throw ParseFault() }
        let length = try length(endingAt: 0xff, zero: 0)
        guard length > 0, var packet = body.readSlice(length: length) else { throw ParseFault() }
        if kind == 1 {
            guard packet.readInteger() == UInt8(4) else { throw ParseFault() }
            return .binary(packet)
        }
        guard UTF8Check.isWellFormed(packet) else { throw ParseFault() }
        return .text(packet)
    }

    private mutating func length(endingAt end: UInt8, zero: UInt8) throws(ParseFault) -> Int {
        var length = 0
        var digits = 0
        while let byte: UInt8 = body.readInteger() {
            if byte == end, digits > 0 { return length }
            guard byte >= zero, byte <= zero + 9, digits < 10 else { throw ParseFault() }
            length = length * 10 + Int(byte - zero)
            digits += 1
        }
        throw ParseFault()
    }

    private static func text(_ packet: ByteBuffer, base64Mark: String) throws(ParseFault) -> PollingPacket {
        guard packet.readableBytes > 0 else { throw ParseFault() }
        var packet = packet
        guard packet.readableBytesView.starts(with: base64Mark.utf8) else { return .text(packet) }
        packet.moveReaderIndex(forwardBy: base64Mark.utf8.count)
        guard let bytes = Base64.decode(packet) else { throw ParseFault() }
        return .binary(bytes)
    }
}

/// String lengths in UTF-16 units, as in JavaScript.
enum UTF16Length {
    /// Returns the number of UTF-16 units of well-formed UTF-8.
    static func count(_ text: ByteBuffer) -> Int {
        text.readableBytesView.reduce(0) { $0 + units($1) }
    }

    /// Returns the byte length of the first `units` UTF-16 units; nil if the text is shorter or a character would be
    /// split.
    static func bytes(of units: Int, in text: ByteBuffer) -> Int? {
        var left = units
        var bytes = 0
        for byte in text.readableBytesView {
            // Continuation bytes belong to the previous character.
            if left == 0 && byte & 0xc0 != 0x80 { return bytes }
            left -= Self.units(byte)
            if left < 0 { return nil }
            bytes += 1
        }
        return left == 0 ? bytes : nil
    }

    private static func units(_ byte: UInt8) -> Int {
        if byte & 0xc0 == 0x80 { return 0 }
        return byte >= 0xf0 ? 2 : 1
    }
}
