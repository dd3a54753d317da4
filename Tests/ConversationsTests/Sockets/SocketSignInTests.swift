import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Sign-in by an event, the connect payload or a header field.
@Suite("Sign-in over sockets") struct SocketSignInTests {
    @Test("The response to a sign-in contains the device and its owner")
    func authenticateResponse() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            let answer = try await socket.ask("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#)

            #expect(answer.code == 200)
            #expect(answer["serial"].string?.isEmpty == false)
            #expect(answer["platform"] == .null)
            #expect(answer["status"].string == "unregistered")
            #expect(answer["owner"]["serial"].string == "ana")
            #expect(answer["owner"]["meta"] == .null)
            #expect(answer["owner"]["devices"].array.map(\.["id"]) == [answer["id"]])

            // A device that signs in again is not registered twice.
            let again = try await fixture.socket(of: fixture.ana).ask("users/updateMeta", #"{"meta":null}"#)
            #expect(again["devices"].array.count == 1)
        }
    }

    @Test("A device that was registered at login is in the first response, and keeps a later token")
    func registeredDevice() async throws {
        try await withSockets { fixture in
            let keys = fixture.fixture.auth.keys
            let login = keys.openSession(
                of: fixture.ana.id,
                session: "first",
                device: "phone",
                platform: "ios_sandbox",
                pushToken: "<AB 12>"
            )
            func device(_ token: String) async throws -> JSONValue {
                try await fixture.stranger().ask("authenticate", #"{"authToken":"\#(token)"}"#)
            }
            let answer = try await device(login)
            #expect(answer["serial"].string == "phone")
            #expect(answer["platform"].string == "ios_sandbox")
            #expect(answer["status"].string == "registered")
            #expect(answer["pushToken"].string == "ab12")
            #expect(answer["meta"] == .null)
            #expect(answer["authToken"].string == login)
            #expect(answer["owner"]["devices"].array.map(\.["pushToken"].string) == ["ab12"])
            #expect(answer["owner"]["devices"].array.allSatisfy { $0["authToken"] == .null })

            // The same session signs in again, and the device's later changes are kept.
            let socket = try await fixture.stranger()
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(login)"}"#).code == 200)
            let changed = try await socket.ask("devices/updatePushToken", #"{"pushToken":"CD34"}"#)
            #expect(changed["pushToken"].string == "cd34")
            #expect(changed["authToken"] == .null)
            #expect(try await device(login)["pushToken"].string == "cd34")

            // A later login on the device replaces the registration; without a token it removes it.
            let second = keys.openSession(
                of: fixture.ana.id,
                session: "second",
                device: "phone",
                platform: "gcm",
                pushToken: "EF56"
            )
            let later = try await device(second)
            #expect(later["pushToken"].string == "EF56")
            #expect(later["platform"].string == "gcm")
            #expect(later["id"] == answer["id"])
            let third = keys.openSession(of: fixture.ana.id, session: "third", device: "phone")
            let last = try await device(third)
            #expect(last["status"].string == "unregistered")
            #expect(last["pushToken"] == .null)
        }
    }

    @Test("A device's token and metadata are visible to its owner only")
    func privateDevice() async throws {
        try await withSockets { fixture in
            let login = fixture.fixture.auth.keys.openSession(
                of: fixture.ana.id,
                device: "phone",
                platform: "gcm",
                pushToken: "secret-token"
            )
            let ana = try await fixture.stranger()
            #expect(try await ana.ask("authenticate", #"{"authToken":"\#(login)"}"#).code == 200)
            let changed = try await ana.ask("devices/updateMeta", #"{"meta":{"color":"secret-red"}}"#)
            #expect(changed["meta"]["color"].string == "secret-red")
            #expect(changed["owner"]["devices"][0]["meta"]["color"].string == "secret-red")
            #expect(try await ana.ask("devices/updateMeta", #"{"meta":7}"#).code == 497)
            #expect(try await ana.ask("devices/updateMeta").code == 497)

            let bo = try await fixture.socket(of: fixture.bo)
            let sent = try await ana.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"hello"}"#)
            #expect(sent.code == 200)
            for answer in [
                try await bo.event("message"), try await bo.ask("chats/detail", #"{"chatId":\#(fixture.chat)}"#),
                try await bo.ask("messages/list", #"{"chatId":\#(fixture.chat)}"#), try await bo.ask("chats/list"),
                try await bo.ask("users/updateMeta", #"{"meta":null}"#),
            ] {
                #expect(!"\(answer)".contains("secret"), "\(answer)")
                #expect(!"\(answer)".contains(login), "\(answer)")
            }
            #expect(try await ana.ask("devices/updateMeta", #"{"meta":null}"#)["meta"] == .null)
        }
    }

    @Test("The connect payload can sign a user in")
    func connectPayload() async throws {
        try await withSockets { fixture in
            let socket = try await SocketClient(port: fixture.port, auth: #"{"token":"\#(fixture.ana.token)"}"#)
            #expect(try await socket.reply().hasPrefix("40{"))
            #expect(try await socket.event("authenticate")["owner"]["serial"].string == "ana")
            #expect(try await socket.ask("chats/list")["chats"].array.count == 1)
        }
    }

    @Test("A header field can sign a user in", arguments: ["authorization", "x-diuit-session-token"])
    func headerField(_ name: String) async throws {
        try await withSockets { fixture in
            let value = name == "authorization" ? "Bearer \(fixture.ana.token)" : fixture.ana.token
            let field = try #require(HTTPField.Name(name))
            let socket = try await SocketClient(port: fixture.port, headers: [field: value])
            #expect(try await socket.event("authenticate").code == 200)
            #expect(try await socket.ask("chats/list").code == 200)
        }
    }

    @Test("An invalid token is rejected in each way of signing in")
    func invalidToken() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            #expect(try await socket.ask("authenticate", #"{"authToken":"rubbish"}"#).code == 403)
            // The client may try again.
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#).code == 200)

            for socket in [
                try await SocketClient(port: fixture.port, auth: #"{"token":"rubbish"}"#),
                try await SocketClient(port: fixture.port, headers: [.authorization: "Bearer rubbish"]),
                try await SocketClient(port: fixture.port, headers: [.authorization: "Basic eDp5"]),
            ] {
                let refusal = try await socket.reply()
                #expect(refusal.hasPrefix(#"44{"message":"#))
                #expect(refusal.contains(#""code":403"#))
            }
        }
    }

    @Test(
        "A malformed credential gets code 497",
        arguments: [
            nil, "{}", "null", "7", #""text""#, "[]", #"{"authToken":null}"#, #"{"authToken":7}"#, #"{"authToken":{}}"#,
            #"{"authToken":"a\u0000b"}"#,
            String(repeating: #"{"authToken":"#, count: 66) + "1" + String(repeating: "}", count: 66),
        ]
    )
    func malformedCredential(_ payload: String?) async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            #expect(try await socket.ask("authenticate", payload).code == 497)
        }
    }

    @Test("Events before sign-in get code 498")
    func notSignedIn() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            for event in ["chats/list", "chats/create", "messages/create", "devices/setBadge", "users/updateMeta"] {
                #expect(try await socket.ask(event).code == 498)
            }
        }
    }

    @Test("A socket that does not sign in in time is closed")
    func authenticateTimeout() async throws {
        try await withSockets(settings: ["AUTHENTICATE_TIMEOUT": "10"]) { fixture in
            let began = ContinuousClock.now
            let silent = try await fixture.stranger()
            let failing = try await fixture.stranger()
            let signedIn = try await fixture.socket(of: fixture.ana)
            #expect(try await failing.ask("authenticate", #"{"authToken":"x"}"#).code == 403)

            try await silent.end()
            try await failing.end()

            #expect(began.duration(to: .now) >= .seconds(10))
            #expect(try await signedIn.ask("chats/list").code == 200)
        }
    }

    @Test("The end of a session closes its sockets")
    func sessionEnd() async throws {
        try await withSockets { fixture in
            let token = try await fixture.fixture.auth.keys.token(for: fixture.ana.id, session: "session-1")
            let socket = try await SocketClient(port: fixture.port, auth: #"{"token":"\#(token)"}"#)
            let other = try await fixture.socket(of: fixture.ana)
            #expect(try await socket.event("authenticate").code == 200)

            let began = ContinuousClock.now
            fixture.fixture.auth.keys.revoke("session-1")
            try await socket.end()

            // It normally takes a second. Only the revocation feed can close the socket.
            #expect(began.duration(to: .now) < .seconds(20))
            #expect(try await other.ask("chats/list").code == 200)
            let late = try await fixture.stranger()
            let refusal = try await late.ask("authenticate", #"{"authToken":"\#(token)"}"#)
            #expect(refusal.code == 403)
            #expect(refusal["codeName"].string == "session_ended")
        }
    }

    @Test("A rejected credential has a stable code name")
    func codeNames() async throws {
        try await withSockets { fixture in
            let expired = try await fixture.fixture.auth.keys.token(for: fixture.ana.id, lifetime: -1)
            for (token, name) in [("rubbish", "invalid_token"), (expired, "token_expired")] {
                let socket = try await fixture.stranger()
                let refusal = try await socket.ask("authenticate", #"{"authToken":"\#(token)"}"#)
                #expect(refusal.code == 403)
                #expect(refusal["codeName"].string == name)
                #expect(refusal["error"].string?.isEmpty == false)

                let connecting = try await SocketClient(port: fixture.port, auth: #"{"token":"\#(token)"}"#)
                #expect(try await connecting.reply().contains(#""codeName":"\#(name)""#))
            }
        }
    }

    /// A customer's account server sets the session's lifetime and the device's name.
    @Test("A socket is closed when its session expires")
    func sessionExpiry() async throws {
        try await withSockets { fixture in
            let keys = fixture.fixture.auth.keys
            let short = keys.openSession(of: fixture.ana.id, device: "ana.device.0", lifetime: 10)
            let long = keys.openSession(of: fixture.ana.id, device: "ana.device.1")
            let socket = try await fixture.stranger()
            let answer = try await socket.ask("authenticate", #"{"authToken":"\#(short)"}"#)
            #expect(answer["serial"].string == "ana.device.0")
            let field = try #require(HTTPField.Name("x-diuit-session-token"))
            let lasting = try await SocketClient(port: fixture.port, headers: [field: long])
            #expect(try await lasting.event("authenticate")["serial"].string == "ana.device.1")

            try await socket.end()

            #expect(try await lasting.ask("chats/list").code == 200)
            let late = try await fixture.stranger()
            #expect(try await late.ask("authenticate", #"{"authToken":"\#(short)"}"#).code == 403)
        }
    }

    @Test("A socket that presents a longer session in time stays open")
    func renewedCredential() async throws {
        try await withSockets(settings: ["SOCKETS_PER_USER_MAX": "1"]) { fixture in
            let keys = fixture.fixture.auth.keys
            let short = keys.openSession(of: fixture.ana.id, session: "old", device: "d", lifetime: 10)
            let socket = try await fixture.stranger()
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(short)"}"#).code == 200)
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#).code == 200)
            // Neither the expiry nor the revocation of the old session affects this socket.
            let other = try await fixture.stranger()
            let same = keys.openSession(of: fixture.bo.id, session: "other", device: "d", lifetime: 11)
            #expect(try await other.ask("authenticate", #"{"authToken":"\#(same)"}"#).code == 200)
            keys.revoke("old")
            try await other.end()
            #expect(try await socket.ask("chats/list").code == 200)
        }
    }

    @Test("A socket that presents a newer credential continues to receive events")
    func newerCredential() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.bo)
            let again = try await socket.ask("authenticate", #"{"authToken":"\#(fixture.bo.token)"}"#)
            #expect(again.code == 200)
            try await fixture.ana.send("hello", in: fixture.fixture.token)
            #expect(try await socket.event("message")["data"].string == "hello")
        }
    }

    @Test("The number of sockets of a user is limited")
    func socketLimit() async throws {
        try await withSockets(settings: ["SOCKETS_PER_USER_MAX": "2"]) { fixture in
            let first = try await fixture.socket(of: fixture.ana)
            _ = try await fixture.socket(of: fixture.ana)
            let third = try await fixture.stranger()
            let credential = #"{"authToken":"\#(fixture.ana.token)"}"#
            #expect(try await third.ask("authenticate", credential).code == 429)
            #expect(try await fixture.socket(of: fixture.bo).ask("chats/list").code == 200)

            // A closed socket no longer counts.
            try await first.send("1")
            try await eventually { try await third.ask("authenticate", credential).code == 200 }
        }
    }

    @Test("The number of sockets of one address that have not signed in is limited")
    func newcomers() async throws {
        // The limit per address is 1/64 of all sockets, which is two.
        try await withSockets(settings: ["SOCKETS_MAX": "128"]) { fixture in
            let name = try #require(HTTPField.Name("x-forwarded-for"))
            func socket(_ address: String) async throws -> SocketClient {
                try await SocketClient(port: fixture.port, headers: [name: address])
            }
            let first = try await socket("2001:db8::1")
            _ = try await socket("2001:db8::2")
            // A client's own value precedes the gateway's value.
            for address in ["2001:db8::3", "192.0.2.7, 2001:db8::4"] {
                let refused = await #expect(throws: SocketClient.Refused.self) { _ = try await socket(address) }
                #expect(refused?.status == 429)
            }
            _ = try await socket("2001:db8:0:1::1")
            _ = try await socket("192.0.2.7")
            // Clients on the same machine are not counted.
            for _ in 0..<3 { _ = try await fixture.stranger() }

            #expect(try await first.ask("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#).code == 200)
            _ = try await socket("2001:db8::5")
        }
    }

    @Test("A client that leaves the namespace is disconnected, signed in or not", .timeLimit(.minutes(2)))
    func leavingTheNamespace() async throws {
        try await withSockets { fixture in
            for socket in [try await fixture.stranger(), try await fixture.socket(of: fixture.ana)] {
                try await socket.send("41")
                try await socket.end()
            }
        }
    }

    @Test("A client that repeatedly presents invalid credentials is disconnected", .timeLimit(.minutes(2)))
    func badCredentials() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.stranger()
            for _ in 0..<5 {
                #expect(try await socket.ask("authenticate", #"{"authToken":"rubbish"}"#).code == 403)
            }
            try await socket.end()
        }
    }

    @Test("The number of requests of a socket is limited")
    func rateLimit() async throws {
        try await withSockets(settings: ["RATE_SOCKET": "1"]) { fixture in
            let began = ContinuousClock.now
            let socket = try await fixture.socket(of: fixture.ana)
            var codes: [Int?] = []
            while codes.last != 429, codes.count < 200 {
                codes.append(try await socket.ask("chats/detail", #"{"chatId":\#(fixture.chat)}"#).code)
            }
            #expect(codes.prefix(9).allSatisfy { $0 == 200 })
            #expect(codes.last == 429)
            // Ten requests including the sign-in, and one more for each second that passed.
            #expect(codes.count - 1 <= 10 + Int(began.duration(to: .now).components.seconds))
        }
    }

    @Test("The message size is small before sign-in and larger after it")
    func messageSize() async throws {
        try await withSockets { fixture in
            let large = #"{"authToken":"\#(String(repeating: "x", count: 70_000))"}"#
            let socket = try await fixture.stranger()
            await #expect(throws: SocketClient.Refused.self) { _ = try await socket.ask("authenticate", large) }

            let signedIn = try await fixture.socket(of: fixture.ana)
            let text = String(repeating: "x", count: 70_000)
            let answer = try await signedIn.ask("messages/create", #"{"chatId":\#(fixture.chat),"data":"\#(text)"}"#)
            #expect(answer.code == 497)
            // The server closes during the message, so there may be no response to read.
            await #expect(throws: (any Error).self) {
                _ = try await signedIn.ask(
                    "messages/create",
                    #"{"data":"\#(String(repeating: "x", count: 8_400_000))"}"#
                )
            }
        }
    }

    @Test("A signed-in socket cannot change its user")
    func oneUser() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(fixture.bo.token)"}"#).code == 403)
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(fixture.ana.token)"}"#).code == 200)
            #expect(try await socket.ask("chats/list").code == 200)
        }
    }
}
