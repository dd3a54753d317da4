import Crypto
import NIOCore
import NIOHTTP1

/// The server's handshake of a WebSocket (RFC 6455, section 4.2).
enum WebSocketHandshake {
    /// Returns whether a request asks for an upgrade to a WebSocket.
    static func isRequested(_ head: HTTPRequestHead) -> Bool {
        head.method == .GET && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
            && head.headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
    }

    /// Returns the fields of the 101 response, or nil if the request is invalid.
    static func responseFields(_ head: HTTPRequestHead) -> HTTPHeaders? {
        let keys = head.headers["sec-websocket-key"]
        guard head.version == .http1_1, keys.count == 1, let key = keys.first, key.utf8.count == 24,
            Base64.decode(ByteBuffer(string: key))?.readableBytes == 16,
            head.headers["sec-websocket-version"] == ["13"]
        else { return nil }
        return [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept(key),
        ]
    }

    private static func accept(_ key: String) -> String {
        // RFC 6455 defines this GUID and SHA-1. The digest only proves that both sides implement WebSocket.
        let digest = Insecure.SHA1.hash(data: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        var text = ByteBuffer()
        Base64.encode(ByteBuffer(bytes: digest), into: &text)
        return String(buffer: text)
    }
}
