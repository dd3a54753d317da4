import Foundation
import PushProviders

/// A scripted APNs server with a client.
struct APNsFixture: Sendable {
    let server: HTTP2Server
    let client: APNsClient
    let clock: TestClock
    let port: Int

    static let token = String(repeating: "a1", count: 32)

    func send(_ message: PushMessage = .greeting, to token: String = Self.token) async -> PushReply {
        await client.send(message, to: .apns(token: token, environment: .production))
    }

    /// Sends to `count` devices concurrently, and returns the replies in order.
    func send(times count: Int, _ message: PushMessage = .greeting) async -> [PushReply] {
        await withTaskGroup(of: (Int, PushReply).self) { group in
            for number in 0..<count {
                group.addTask {
                    let digits = String(number, radix: 16)
                    let token = String(repeating: "0", count: 64 - digits.count) + digits
                    var message = message
                    message.id = UUID()
                    return (number, await send(message, to: token))
                }
            }
            var replies = [PushReply?](repeating: nil, count: count)
            for await (number, reply) in group { replies[number] = reply }
            return replies.compactMap { $0 }
        }
    }
}

extension PushMessage {
    static let greeting = PushMessage(
        id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
        title: "Ada",
        body: "See you at nine"
    )
}

extension HTTP2Server.Action {
    static let accept = HTTP2Server.Action.answer(200, [("apns-id", "01020304-0506-0708-090a-0b0c0d0e0f10")])

    static func refuse(_ status: Int, _ reason: String, timestamp: Int? = nil) -> HTTP2Server.Action {
        let time = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        return .answer(status, body: "{\"reason\":\"\(reason)\"\(time)}")
    }
}

/// Runs `body` with a client of a server that follows `script`.
func withAPNs<Value>(
    settings: [HTTP2Server.Setting] = [.streams(1_000)],
    configure: (inout APNsClient.Configuration) -> Void = { _ in },
    answering script: @escaping HTTP2Server.Script = { _ in [.accept] },
    _ body: (APNsFixture) async throws -> Value
) async throws -> Value {
    try await HTTP2Server.run(settings: settings, script) { server, port in
        var configuration = APNsClient.Configuration()
        configuration.productionURL = "https://localhost:\(port)"
        configuration.sandboxURL = "https://127.0.0.1:\(port)"
        configuration.trustedAuthorities = TestAuthority.certificate
        // Longer than any pause of a busy machine.
        (configuration.connectTimeout, configuration.requestTimeout) = (.seconds(30), .seconds(60))
        configure(&configuration)
        let clock = TestClock()
        let client = try APNsClient(credentials: .test, configuration: configuration, now: { clock.now })
        let value: Value
        do {
            value = try await body(APNsFixture(server: server, client: client, clock: clock, port: port))
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
        return value
    }
}

extension APNsClient.Credentials {
    static let test = APNsClient.Credentials(
        key: TestAuthority.apple.privateKey,
        keyID: "ABC123DEFG",
        teamID: "DEF123GHIJ",
        topic: "org.example.app"
    )
}
