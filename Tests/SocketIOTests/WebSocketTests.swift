import NIOCore
import SocketIO
import TestSupport
import Testing

@Suite("WebSocket") struct WebSocketTests {
    @Test("A fragmented message may have a ping between its fragments")
    func fragments() async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(opcode: 1, ByteBuffer(string: #"42["message",""#), isFinal: false)
            try await socket.send(opcode: 0, ByteBuffer(bytes: [0xe2, 0x82]), isFinal: false)
            try await socket.send(opcode: 9, ByteBuffer(string: "are you there"))
            try await socket.send(opcode: 0, ByteBuffer(bytes: [0xac, 0x22, 0x5d]))
            #expect(try await socket.frame() == .pong("are you there"))
            #expect(try await socket.text() == "42[\"message-back\",\"\u{20ac}\"]")
        }
    }

    @Test("Frames that arrive byte by byte are read")
    func singleBytes() async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            var frames = WebSocket.frame(1, ByteBuffer(string: #"42["message",1]"#))
            frames.writeImmutableBuffer(WebSocket.frame(1, ByteBuffer(string: #"42["message",2]"#)))
            for byte in frames.readableBytesView { try await socket.rawConnection.send(ByteBuffer(bytes: [byte])) }
            #expect(try await socket.text() == #"42["message-back",1]"#)
            #expect(try await socket.text() == #"42["message-back",2]"#)
        }
    }

    @Test("Messages with all three forms of length are echoed", arguments: [124, 125, 126, 65_535, 65_536, 300_000])
    func lengths(length: Int) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            let text = String(repeating: "\u{20ac}", count: length / 3)
            try await socket.send("42[\"message\",\"\(text)\"]")
            #expect(try await socket.text() == "42[\"message-back\",\"\(text)\"]")
        }
    }

    /// An invalid frame, and the code of the server's close frame.
    struct Wrong: CustomTestStringConvertible {
        let name: String
        let bytes: ByteBuffer
        let code: UInt16

        var testDescription: String { name }

        init(_ name: String, _ code: UInt16, _ bytes: ByteBuffer) {
            self.name = name
            self.bytes = bytes
            self.code = code
        }
    }

    static let wrong: [Wrong] = {
        let text = ByteBuffer(string: "2")
        var reserved = WebSocket.frame(1, text)
        reserved.setInteger(UInt8(0xc1), at: 0)
        var long = ByteBuffer(bytes: [0x81, 0xfe, 0, 5, 0, 0, 0, 0])
        long.writeString("4abcd")
        return [
            Wrong("unmasked", 1002, WebSocket.frame(1, text, isMasked: false)),
            Wrong("reserved bit", 1002, reserved),
            Wrong("unknown opcode", 1002, WebSocket.frame(3, text)),
            Wrong("continuation of nothing", 1002, WebSocket.frame(0, text)),
            Wrong("ping in parts", 1002, WebSocket.frame(9, text, isFinal: false)),
            Wrong("ping of 126 bytes", 1002, WebSocket.frame(9, ByteBuffer(repeating: 0x20, count: 126))),
            Wrong("length in too long a form", 1002, long),
            Wrong("close of one byte", 1002, WebSocket.frame(8, ByteBuffer(bytes: [3]))),
            Wrong("close with a forbidden code", 1002, WebSocket.frame(8, ByteBuffer(integer: UInt16(1005)))),
            Wrong("invalid UTF-8", 1007, WebSocket.frame(1, ByteBuffer(bytes: [0x34, 0xc0, 0xaf]))),
            Wrong("half a character", 1007, WebSocket.frame(1, ByteBuffer(bytes: [0x34, 0xe2, 0x82]))),
            Wrong("surrogate", 1007, WebSocket.frame(1, ByteBuffer(bytes: [0x34, 0xed, 0xa0, 0x80]))),
            Wrong("too large", 1009, WebSocket.frame(1, ByteBuffer(repeating: 0x34, count: 1_001))),
            Wrong("9 exabytes", 1009, ByteBuffer(bytes: [0x82, 0xff, 0x7f] + [UInt8](repeating: 0xff, count: 11))),
        ]
    }()

    @Test("An invalid frame closes only its own connection, with the right code", arguments: wrong)
    func invalidFrames(_ wrong: Wrong) async throws {
        try await withServer { settings in
            settings.maxPayload = 1_000
        } _: { fixture in
            let other = try await fixture.joined()
            let socket = try await fixture.joined()
            try await socket.rawConnection.send(wrong.bytes)
            #expect(try await socket.closeCode() == wrong.code)
            try await socket.rawConnection.readToEnd()
            try await other.send(#"42["message"]"#)
            #expect(try await other.text() == #"42["message-back"]"#)
        }
    }

    @Test("The fragments of a message together may not exceed the limit")
    func fragmentedLimit() async throws {
        try await withServer { settings in
            settings.maxPayload = 1_000
        } _: { fixture in
            let socket = try await fixture.joined()
            let half = ByteBuffer(repeating: 0x34, count: 600)
            try await socket.send(opcode: 1, half, isFinal: false)
            try await socket.send(opcode: 0, half)
            #expect(try await socket.closeCode() == 1009)
        }
    }

    @Test("The size limit can be raised for one connection")
    func raisedLimit() async throws {
        try await withServer { settings in
            settings.maxPayload = 100
        } namespaces: { server in
            server.namespace("/").on("raise") { socket, event in
                socket.connection.setMaxPayload(10_000)
                event.acknowledgement?()
            }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send(#"420["raise"]"#)
            #expect(try await socket.text() == "430[]")
            let text = String(repeating: "a", count: 5_000)
            try await socket.send("42[\"message\",\"\(text)\"]")
            #expect(try await socket.text() == "42[\"message-back\",\"\(text)\"]")

            let other = try await fixture.joined()
            try await other.send("42[\"message\",\"\(text)\"]")
            #expect(try await other.closeCode() == 1009)
        }
    }

    @Test("A close frame is answered, and the connection ends")
    func closeFrame() async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send(opcode: 8, ByteBuffer(integer: UInt16(1001)))
            #expect(try await socket.frame() == .close(1001))
            try await socket.rawConnection.readToEnd()
            try await eventually { fixture.server.connectionCount == 0 }
        }
    }

    @Test("A close packet ends the connection immediately")
    func closePacket() async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send("1")
            #expect(try await socket.frame() == .close(nil))
            try await socket.rawConnection.readToEnd()
        }
    }

    @Test("A malformed packet closes the connection", arguments: ["x", "", "abc", "b=", "0"])
    func malformedPacket(text: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send(text)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("Revision 3 binary data starts with its type, and data without it closes the connection")
    func revision3Binary() async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket(revision: 3)
            #expect(try await socket.text() == "40")
            #expect(try await socket.text() == #"42["auth",{}]"#)
            try await socket.send(#"451-["message",{"_placeholder":true,"num":0}]"#)
            try await socket.send(binary: [4, 1, 2, 3])
            #expect(try await socket.text() == #"451-["message-back",{"_placeholder":true,"num":0}]"#)
            #expect(try await socket.frame() == .binary([4, 1, 2, 3]))
            try await socket.send(binary: [1, 2, 3])
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A WebSocket with `b64=1` transfers binary data as Base64", arguments: [(4, "b"), (3, "b4")])
    func base64(revision: Int, mark: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket(revision: revision, query: "&b64=1")
            if revision == 4 { try await socket.send("40") }
            _ = try await socket.text()
            _ = try await socket.text()
            try await socket.send(#"451-["message",{"_placeholder":true,"num":0}]"#)
            try await socket.send("\(mark)AQIDBA==")
            #expect(try await socket.text() == #"451-["message-back",{"_placeholder":true,"num":0}]"#)
            #expect(try await socket.text() == "\(mark)AQIDBA==")
        }
    }

    @Test("A half-closed connection is closed")
    func halfClosed() async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.rawConnection.channel.close(mode: .output)
            try await socket.rawConnection.readToEnd()
            // The client sees the end shortly before the server updates its count.
            try await eventually { fixture.server.connectionCount == 0 }
        }
    }
}
