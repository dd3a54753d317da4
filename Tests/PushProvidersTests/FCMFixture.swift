import Foundation
import PushProviders
import Testing

/// A scripted FCM server with a client.
struct FCMFixture: Sendable {
    let server: HTTP1Server
    let client: FCMClient
    let clock: TestClock

    var sent: [HTTP1Server.Request] { server.requests.filter { $0.path != "/token" } }
    var assertions: [HTTP1Server.Request] { server.requests.filter { $0.path == "/token" } }

    func send(_ message: PushMessage = .greeting) async -> PushReply {
        await client.send(message, to: .fcm(token: "device:1"))
    }

    func send(times count: Int) async -> [PushReply] {
        await withTaskGroup(of: PushReply.self) { group in
            for _ in 0..<count { group.addTask { await send() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Runs `body` with a client of a server that issues tokens and responds to notifications by `script`.
func withFCM(
    token: @escaping HTTP1Server.Script = { .init(status: 200, body: .grant("access-\($0.number)")) },
    answering script: @escaping HTTP1Server.Script = { _ in
        .init(status: 200, body: #"{"name":"projects/roost-test/messages/1"}"#)
    },
    _ body: (FCMFixture) async throws -> Void
) async throws {
    let key = try #require(TestAuthority.google)
    let account = [
        "type": "service_account", "project_id": "roost-test", "private_key_id": "key-1",
        "private_key": key.privateKey, "client_email": "push@roost-test.iam.example",
        "token_uri": "https://oauth2.googleapis.com/token",
    ]
    let json = String(decoding: try JSONEncoder().encode(account), as: UTF8.self)
    try await HTTP1Server.run { request in
        request.path == "/token" ? token(request) : script(request)
    } _: { server, port in
        var configuration = FCMClient.Configuration()
        configuration.url = "http://127.0.0.1:\(port)/fcm"
        configuration.tokenURL = "http://127.0.0.1:\(port)/token"
        // Longer than any pause of a busy machine.
        (configuration.connectTimeout, configuration.requestTimeout) = (.seconds(30), .seconds(60))
        let clock = TestClock()
        let client = try FCMClient(serviceAccount: json, configuration: configuration, now: { clock.now })
        do {
            try await body(FCMFixture(server: server, client: client, clock: clock))
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }
}

extension String {
    static func grant(_ token: String, seconds: Int = 3_600) -> String {
        #"{"access_token":"\#(token)","expires_in":\#(seconds),"token_type":"Bearer"}"#
    }

    /// Returns an error in the format of Google's services.
    static func problem(_ status: String, code: String? = nil, message: String = "no", details: String = "") -> String {
        let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
        let own = code.map { #"{"@type":"\#(type)","errorCode":"\#($0)"}"# }
        let all = [own, details.isEmpty ? nil : details].compactMap { $0 }.joined(separator: ",")
        return #"{"error":{"code":0,"message":"\#(message)","status":"\#(status)","details":[\#(all)]}}"#
    }
}
