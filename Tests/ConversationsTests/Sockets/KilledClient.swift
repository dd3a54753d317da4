import Foundation
import TestSupport

/// A Socket.IO client that can close its connections as a killed process does.
final class KilledClient: Sendable {
    enum Transport: String, Sendable, CaseIterable {
        case polling, webSocket, upgraded
    }

    private let revision: Int
    // The connections for polling requests, posts and the WebSocket.
    private let fetching: RawClient
    private let posting: RawClient
    private let webSocket: RawClient

    private init(port: Int, revision: Int) async throws {
        self.revision = revision
        fetching = try await RawClient(port: port)
        posting = try await RawClient(port: port)
        webSocket = try await RawClient(port: port)
    }

    /// Opens a client and signs it in.
    ///
    /// The service rejects a client while earlier killed clients still count towards the limit; the client then retries.
    static func open(port: Int, _ transport: Transport, revision: Int, token: String) async throws -> KilledClient {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let client = try await KilledClient(port: port, revision: revision)
            do {
                switch transport {
                case .webSocket: try await client.openWebSocket(token)
                case .polling: try await client.poll(token, thenUpgrade: false)
                case .upgraded: try await client.poll(token, thenUpgrade: true)
                }
                return client
            } catch {
                client.kill()
                guard .now < deadline else { throw error }
                try await ContinuousClock().sleep(for: .milliseconds(50))
            }
        }
    }

    /// Closes all connections with a reset.
    func kill() {
        for socket in [webSocket, fetching, posting] { socket.reset() }
    }

    // MARK: WebSocket

    private func openWebSocket(_ token: String) async throws {
        try await upgrade(session: "")
        if revision == 4 { try await sendText("40") }
        try await signIn(token) { packet in
            try await sendText(packet)
            return try await webSocket.receive(until: #"["authenticate""#)
        }
    }

    private func upgrade(session: String) async throws {
        try await webSocket.send(
            "GET /socket.io/?EIO=\(revision)&transport=websocket\(session) HTTP/1.1\r\nhost: a\r\n"
                + "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
                + "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        _ = try await webSocket.receive(until: session.isEmpty ? "\"sid\"" : "\r\n\r\n")
    }

    /// Sends a text frame, masked with zeros.
    private func sendText(_ text: String) async throws {
        let bytes = Array(text.utf8)
        let length =
            bytes.count < 126 ? [UInt8(bytes.count)] : [126, UInt8(bytes.count >> 8 & 0xff), UInt8(bytes.count & 0xff)]
        try await webSocket.send([0x81, length[0] | 0x80] + length.dropFirst() + [0, 0, 0, 0] + bytes)
    }

    // MARK: Polling

    private func poll(_ token: String, thenUpgrade upgrades: Bool) async throws {
        let opened = try await fetch(session: "")
        guard let id = opened.firstMatch(of: /"sid":"([^"]+)"/)?.1 else { throw TestSupportError(opened) }
        let session = "&sid=\(id)"
        if revision == 4 { try await post("40", session) }
        try await signIn(token) { packet in
            try await post(packet, session)
            while true {
                let answer = try await fetch(session: session)
                if answer.contains(#"["authenticate""#) { return answer }
                guard answer.hasPrefix("HTTP/1.1 200") else { throw TestSupportError(answer) }
            }
        }
        guard upgrades else {
            // The next poll stays open.
            return try await fetching.send(request("GET", session))
        }
        try await upgrade(session: session)
        try await sendText("2probe")
        _ = try await webSocket.receive(until: "3probe")
        try await sendText("5")
        try await sendText(#"421["no such event"]"#)
        _ = try await webSocket.receive(until: "431[")
    }

    private func request(_ method: String, _ session: String, _ fields: String = "") -> String {
        "\(method) /socket.io/?EIO=\(revision)&transport=polling\(session) HTTP/1.1\r\nhost: a\r\n\(fields)\r\n"
    }

    private func fetch(session: String) async throws -> String {
        try await fetching.send(request("GET", session))
        return try await answer(over: fetching)
    }

    private func post(_ packet: String, _ session: String) async throws {
        let body = revision == 4 ? packet : "\(packet.utf16.count):\(packet)"
        let fields = "content-type: text/plain\r\ncontent-length: \(body.utf8.count)\r\n"
        try await posting.send(request("POST", session, fields) + body)
        _ = try await answer(over: posting)
    }

    private func answer(over socket: RawClient) async throws -> String {
        var answer = ""
        while true {
            let more = try await socket.receive()
            guard !more.isEmpty else { throw TestSupportError("the service closed the connection after \(answer)") }
            answer += more
            guard let end = answer.range(of: "\r\n\r\n") else { continue }
            let length = answer.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
            if answer[end.upperBound...].utf8.count >= length { return answer }
        }
    }

    // MARK: Signing in

    private func signIn(_ token: String, _ exchange: (String) async throws -> String) async throws {
        let answer = try await exchange(#"42["authenticate",{"authToken":"\#(token)"}]"#)
        guard answer.contains(#""code":200"#) else { throw TestSupportError(answer) }
    }
}
