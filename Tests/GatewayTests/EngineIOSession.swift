@testable import GatewayServer

/// Requests of an Engine.IO client.
enum EngineIOSession {
    /// A request of each kind that belongs to a session: two polls and a WebSocket upgrade.
    static func requests(of session: String) -> [String] {
        let poll = "/socket.io/?EIO=4&transport=polling&t=1&sid=\(session)"
        return [
            "GET \(poll) HTTP/1.1\r\nhost: a\r\n\r\n",
            "POST \(poll)&b64=1 HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n40",
            "GET /socket.io/?sid=\(session)&EIO=4&transport=websocket HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n"
                + "upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        ]
    }

    static func tag(of service: ScriptedService) throws -> String {
        try UpstreamInstance(url: "http://127.0.0.1:\(service.port)").tag
    }
}
