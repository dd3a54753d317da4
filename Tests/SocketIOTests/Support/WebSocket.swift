import NIOCore

/// A WebSocket client that can send any frame, valid or not.
struct WebSocket {
    enum Frame: Equatable {
        case text(String)
        case binary([UInt8])
        case pong(String)
        /// The code, if there is one.
        case close(UInt16?)
    }

    struct Refused: Error {
        let response: Response
    }

    static let handshake = [
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]

    let rawConnection: RawConnection

    /// - Throws: ``Refused`` for any response other than 101.
    init(_ rawConnection: RawConnection, _ path: String, _ fields: [String: String] = [:]) async throws {
        self.rawConnection = rawConnection
        let response = try await rawConnection.request("GET", path, Self.handshake.merging(fields) { $1 })
        guard response.status == 101 else { throw Refused(response: response) }
    }

    func send(_ text: String) async throws {
        try await send(opcode: 1, ByteBuffer(string: text))
    }

    func send(binary bytes: [UInt8]) async throws {
        try await send(opcode: 2, ByteBuffer(bytes: bytes))
    }

    func send(opcode: UInt8, _ payload: ByteBuffer, isFinal: Bool = true, isMasked: Bool = true) async throws {
        try await rawConnection.send(Self.frame(opcode, payload, isFinal: isFinal, isMasked: isMasked))
    }

    static func frame(
        _ opcode: UInt8,
        _ payload: ByteBuffer,
        isFinal: Bool = true,
        isMasked: Bool = true
    ) -> ByteBuffer {
        var frame = ByteBuffer(integer: opcode | (isFinal ? 0x80 : 0))
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.readableBytes {
        case let length where length < 126: frame.writeInteger(mask | UInt8(length))
        case let length where length < 65_536: frame.writeMultipleIntegers(mask | 126, UInt16(length))
        case let length: frame.writeMultipleIntegers(mask | 127, UInt64(length))
        }
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        if isMasked { frame.writeBytes(key) }
        frame.writeBytes(payload.readableBytesView.enumerated().map { isMasked ? $1 ^ key[$0 % 4] : $1 })
        return frame
    }

    func frame() async throws -> Frame {
        let start: UInt16 = try await rawConnection.read(2).getInteger(at: 0).unwrapped()
        var length = Int(start & 0x7f)
        if length == 126 {
            length = Int(try await rawConnection.read(2).readableBytesView.reduce(0) { $0 << 8 | UInt64($1) })
        } else if length == 127 {
            length = Int(try await rawConnection.read(8).readableBytesView.reduce(0) { $0 << 8 | UInt64($1) })
        }
        var payload = try await rawConnection.read(length)
        switch start >> 8 & 15 {
        case 1: return .text(String(buffer: payload))
        case 2: return .binary(Array(payload.readableBytesView))
        case 8: return .close(payload.readInteger())
        default: return .pong(String(buffer: payload))
        }
    }

    /// Reads the next message, which must be text.
    func text() async throws -> String {
        let frame = try await frame()
        guard case .text(let text) = frame else { throw Unexpected(frame: frame) }
        return text
    }

    struct Unexpected: Error {
        let frame: Frame
    }

    /// Reads up to the server's close frame, and returns its code.
    func closeCode() async throws -> UInt16? {
        while true {
            if case .close(let code) = try await frame() { return code }
        }
    }
}
