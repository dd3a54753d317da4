import NIOCore

/// A packet to one or more clients, encoded once: text in three parts, then attachments.
struct OutgoingPacket: Sendable {
    /// Empty for a binary Engine.IO message.
    private let head: ByteBuffer
    private let json: ByteBuffer
    private let tail: ByteBuffer
    let attachments: [ByteBuffer]

    var hasText: Bool { head.readableBytes > 0 }
    var textLength: Int { head.readableBytes + json.readableBytes + tail.readableBytes }

    private static let bracket = ByteBuffer(string: "]")

    /// Creates an Engine.IO packet from text that begins with the packet type.
    init(_ text: StaticString) {
        self.init(text: ByteBuffer(staticString: text))
    }

    init(text: ByteBuffer) {
        head = text
        json = ByteBuffer()
        tail = ByteBuffer()
        attachments = []
    }

    init(_ message: EngineMessage) {
        switch message {
        case .text(let text):
            head = ByteBuffer(string: "4")
            json = text
            attachments = []
        case .binary(let bytes):
            head = ByteBuffer()
            json = ByteBuffer()
            attachments = [bytes]
        }
        tail = ByteBuffer()
    }

    init(
        event: String,
        _ arguments: SocketArguments,
        namespace: Namespace,
        id: UInt64? = nil
    ) {
        var head = Self.head(binary: "45", plain: "42", arguments, namespace, id)
        JSONStringCoder.write(event, into: &head)
        if arguments.json.readableBytes > 0 { head.writeInteger(UInt8(ascii: ",")) }
        self.head = head
        json = arguments.json
        tail = Self.bracket
        attachments = arguments.attachments
    }

    init(acknowledging id: UInt64, _ arguments: SocketArguments, namespace: Namespace) {
        head = Self.head(binary: "46", plain: "43", arguments, namespace, id)
        json = arguments.json
        tail = Self.bracket
        attachments = arguments.attachments
    }

    private static func head(
        binary: StaticString,
        plain: StaticString,
        _ arguments: SocketArguments,
        _ namespace: Namespace,
        _ id: UInt64?
    ) -> ByteBuffer {
        var head = ByteBuffer()
        head.reserveCapacity(64)
        if arguments.attachments.isEmpty {
            head.writeStaticString(plain)
        } else {
            head.writeStaticString(binary)
            head.writeString("\(arguments.attachments.count)-")
        }
        if namespace.name != "/" {
            head.writeString(namespace.name)
            head.writeInteger(UInt8(ascii: ","))
        }
        if let id { head.writeString(String(id)) }
        head.writeInteger(UInt8(ascii: "["))
        return head
    }

    /// The concatenated text.
    var text: ByteBuffer {
        guard json.readableBytes + tail.readableBytes > 0 else { return head }
        var text = ByteBuffer()
        text.reserveCapacity(textLength)
        writeText(into: &text)
        return text
    }

    /// Writes the text as a WebSocket frame.
    func writeTextFrame(into buffer: inout ByteBuffer) {
        buffer.reserveCapacity(minimumWritableBytes: textLength + 10)
        buffer.writeFrameHeader(.text, length: textLength)
        writeText(into: &buffer)
    }

    private func writeText(into buffer: inout ByteBuffer) {
        buffer.writeImmutableBuffer(head)
        buffer.writeImmutableBuffer(json)
        buffer.writeImmutableBuffer(tail)
    }
}
