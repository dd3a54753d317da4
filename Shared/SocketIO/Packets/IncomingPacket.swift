import NIOCore

/// A Socket.IO packet received from a client.
struct IncomingPacket {
    enum Content {
        /// `auth` is the packet's JSON object, if it has one.
        case connect(auth: ByteBuffer?)
        case disconnect
        case event(name: String, arguments: ByteBuffer)
        case acknowledgement(arguments: ByteBuffer)
    }

    /// Nil for `/`.
    let namespace: String?
    /// The query that revision 3 clients append to a namespace: `/admin?token=1`.
    let query: String?
    let id: UInt64?
    let attachments: Int
    let content: Content

    /// Event names reserved by the Socket.IO library.
    private static let reserved: Set<String> = [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
    ]

    /// The largest size of an event name in bytes of JSON.
    private static let longestName = 1_024

    /// Parses `<type>[<attachments>-][<namespace>,][<id>][<json>]`.
    init(_ text: ByteBuffer, limits: SocketIOLimits) throws(ParseFault) {
        let parsed = text.withUnsafeReadableBytes { bytes in
            Result { () throws(ParseFault) in try Fields(bytes, text: text, limits: limits) }
        }
        let fields: Fields
        switch parsed {
        case .success(let read): fields = read
        case .failure(let fault): throw fault
        }
        namespace = fields.namespace
        query = fields.query
        id = fields.id
        attachments = fields.attachments
        content = fields.content
    }

    /// The parsed parts of a packet.
    private struct Fields {
        var namespace: String?
        var query: String?
        var id: UInt64?
        var attachments = 0
        var content = Content.disconnect

        init(_ bytes: UnsafeRawBufferPointer, text: ByteBuffer, limits: SocketIOLimits) throws(ParseFault) {
            guard let type = bytes.first else { throw ParseFault() }
            var index = 1
            let isBinary = type == UInt8(ascii: "5") || type == UInt8(ascii: "6")
            if isBinary {
                let count = try Self.number(bytes, &index, limit: limits.attachments)
                guard let count, index < bytes.count, bytes[index] == UInt8(ascii: "-") else { throw ParseFault() }
                attachments = Int(count)
                index += 1
            }
            readNamespace(bytes, &index)
            id = try Self.number(bytes, &index, limit: Int.max)
            let reader = JSONReader(
                bytes: bytes,
                text: text,
                start: index,
                depth: limits.depth,
                values: limits.values,
                attachments: isBinary ? attachments : nil
            )
            switch type {
            case UInt8(ascii: "0"): content = .connect(auth: try reader.object())
            case UInt8(ascii: "1"): if index < bytes.count { throw ParseFault() }
            case UInt8(ascii: "2"), UInt8(ascii: "5"): content = try reader.event()
            case UInt8(ascii: "3"), UInt8(ascii: "6"): content = .acknowledgement(arguments: try reader.array())
            default: throw ParseFault()
            }
        }

        private mutating func readNamespace(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) {
            guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return }
            let end = bytes[index...].firstIndex(of: UInt8(ascii: ",")) ?? bytes.count
            let name = String(decoding: bytes[index..<end], as: UTF8.self)
            index = min(end + 1, bytes.count)
            let halves = name.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            namespace = halves[0] == "/" ? nil : String(halves[0])
            query = halves.count == 2 ? String(halves[1]) : nil
        }

        /// Reads a run of digits; nil if there is none.
        private static func number(
            _ bytes: UnsafeRawBufferPointer,
            _ index: inout Int,
            limit: Int
        ) throws(ParseFault) -> UInt64? {
            var number: UInt64?
            while index < bytes.count, isDigit(bytes[index]) {
                let (tens, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isAlsoTooLarge) = tens.addingReportingOverflow(UInt64(bytes[index] - UInt8(ascii: "0")))
                guard !isTooLarge, !isAlsoTooLarge, sum <= UInt64(limit) else { throw ParseFault() }
                number = sum
                index += 1
            }
            return number
        }
    }

    /// Reads the JSON part of a packet.
    private struct JSONReader {
        let bytes: UnsafeRawBufferPointer
        let text: ByteBuffer
        let start: Int
        let depth: Int
        let values: Int
        let attachments: Int?

        private var scanner: JSONScanner {
            JSONScanner(bytes, from: start, depth: depth, values: values, attachments: attachments)
        }

        private func slice(_ range: Range<Int>) -> ByteBuffer {
            text.getSlice(at: text.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
        }

        func object() throws(ParseFault) -> ByteBuffer? {
            guard start < bytes.count else { return nil }
            var scanner = scanner
            guard scanner.next == UInt8(ascii: "{") else { throw ParseFault() }
            try scanner.skipValue()
            let end = scanner.index
            scanner.skipSpace()
            guard scanner.isAtEnd else { throw ParseFault() }
            return slice(start..<end)
        }

        func event() throws(ParseFault) -> Content {
            var scanner = scanner
            guard scanner.accept("[") else { throw ParseFault() }
            scanner.skipSpace()
            let name = try eventName(&scanner)
            scanner.skipSpace()
            if scanner.accept(",") { return .event(name: name, arguments: try rest(&scanner)) }
            try end(&scanner)
            return .event(name: name, arguments: ByteBuffer())
        }

        func array() throws(ParseFault) -> ByteBuffer {
            var scanner = scanner
            guard scanner.accept("[") else { throw ParseFault() }
            scanner.skipSpace()
            if scanner.next == UInt8(ascii: "]") {
                try end(&scanner)
                return ByteBuffer()
            }
            return try rest(&scanner)
        }

        private func eventName(_ scanner: inout JSONScanner) throws(ParseFault) -> String {
            let start = scanner.index
            if scanner.next == UInt8(ascii: "\"") {
                let hasEscapes = try scanner.skipString()
                // Comparing names takes quadratic time in the number of consecutive combining marks.
                guard scanner.index - start <= IncomingPacket.longestName else { throw ParseFault() }
                let name = JSONStringCoder.decode(bytes[start..<scanner.index], hasEscapes: hasEscapes)
                guard !IncomingPacket.reserved.contains(name) else { throw ParseFault() }
                return name
            }
            guard let byte = scanner.next, isDigit(byte) || byte == UInt8(ascii: "-") else { throw ParseFault() }
            try scanner.skipValue()
            return String(decoding: bytes[start..<scanner.index], as: UTF8.self)
        }

        /// Reads the remaining values up to the closing bracket.
        private func rest(_ scanner: inout JSONScanner) throws(ParseFault) -> ByteBuffer {
            scanner.skipSpace()
            let start = scanner.index
            var last = start
            repeat {
                scanner.skipSpace()
                try scanner.skipValue()
                last = scanner.index
                scanner.skipSpace()
            } while scanner.accept(",")
            try end(&scanner)
            return slice(start..<last)
        }

        private func end(_ scanner: inout JSONScanner) throws(ParseFault) {
            guard scanner.accept("]") else { throw ParseFault() }
            scanner.skipSpace()
            guard scanner.isAtEnd else { throw ParseFault() }
        }
    }
}
