import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The limits on logins with the right password, and the rows that logins leave.
@Suite("Limits on logins", .timeLimit(.minutes(5))) struct LoginLimitTests {
    private let wrong = "not the password"

    private func login(
        _ auth: Auth,
        _ name: String,
        password: String = Auth.password,
        token: String?,
        device: String? = nil,
        address: String
    ) async throws -> TestHTTPResponse {
        var body: [String: JSONValue] = ["username": .string(name), "password": .string(password)]
        body["deviceToken"] = token.map { .string($0) }
        body["deviceId"] = device.map { .string($0) }
        var headers = HTTPFields()
        if let field = HTTPField.Name("X-Forwarded-For") { headers[field] = address }
        return try await auth.post("/auth/login", json(body), headers: headers)
    }

    private func count(_ table: String, _ auth: Auth) async throws -> Int {
        // Only table names of this file are passed.
        try await auth.service.database.pool.one("SELECT count(*) AS rows FROM \(unsafe: table)") { try $0.int("rows") }
    }

    @Test("An account has a limited number of logins a minute, even with the right password")
    func rate() async throws {
        let clock = TestClock()
        try await withAuth(settings: ["LOGINS_PER_MINUTE": "5"], clock: clock) { auth in
            for name in ["ada", "bo"] { _ = try await auth.register(name) }
            for _ in 0..<5 { #expect(try await auth.login("ada").status == 200) }
            clock.advance(seconds: 20)
            let refused = try await auth.login("ADA")
            #expect(refused.status == 429)
            #expect(refused.problem?.code == "too_many_logins")
            #expect(refused.headers[.retryAfter] == "40")
            #expect(try await auth.login("bo").status == 200)
            clock.advance(seconds: 40)
            #expect(try await auth.login("ada").status == 200)
        }
        #expect(AuthConfiguration().loginsPerMinute == 60)
    }

    @Test("An account has 100 sessions, and a new one ends the one that was unused for longest")
    func sessions() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let oldest = try await auth.anonymous()
            var newest = oldest
            for number in 1..<TokenIssuer.maximumSessions {
                clock.advance(seconds: 1)
                newest = try await newSession(of: oldest, auth)
                // The first session is in use, so the second one is unused for longest.
                if number == 50 { #expect(try await auth.refresh(oldest.refreshToken).status == 200) }
            }
            #expect(try await count("sessions", auth) == TokenIssuer.maximumSessions)
            let second = try await oldestSession(auth)
            clock.advance(seconds: 1)
            let last = try await newSession(of: newest, auth)
            #expect(try await count("sessions", auth) == TokenIssuer.maximumSessions)
            #expect(try await count("refresh_tokens", auth) <= TokenIssuer.maximumSessions + 1)
            #expect(try await oldestSession(auth) != second)
            // The verifiers learn from the feed that it ended.
            let revoked = try await auth.service.database.pool.all("SELECT session_id FROM revocations") {
                try $0.uuid("session_id")
            }
            #expect(revoked == [second])
            for person in [oldest, last] { #expect(try await auth.me(person.jwt).status == 200) }
        }
    }

    /// Another session of an anonymous account, which needs no password hash.
    private func newSession(of person: Auth.Person, _ auth: Auth) async throws -> Auth.Person {
        try auth.person(try await auth.service.send(.post, "/auth/anonymous", token: person.jwt), "")
    }

    private func oldestSession(_ auth: Auth) async throws -> UUID {
        try await auth.service.database.pool.one("SELECT session_id FROM sessions ORDER BY last_seen_at LIMIT 1") {
            try $0.uuid("session_id")
        }
    }

    @Test("Many sign-ins leave a bounded number of rows")
    func growth() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            var person = try await auth.anonymous()
            // 150 sign-ins pass every limit but the audit's, whose rows are inserted here.
            try await auth.service.database.pool.run(
                """
                INSERT INTO audit (user_id, kind, happened_at)
                SELECT user_id, kind, now()
                FROM accounts, generate_series(1, 990), unnest(ARRAY['login.succeeded', 'session.ended']) AS kinds (kind)
                """
            )
            for number in 0..<150 {
                if number.isMultiple(of: 10) { clock.advance(seconds: 1) }
                person = try await newSession(of: person, auth)
            }
            #expect(try await count("sessions", auth) == TokenIssuer.maximumSessions)
            #expect(try await count("refresh_tokens", auth) == TokenIssuer.maximumSessions)
            #expect(try await count("audit", auth) <= 2 * AuditStore.maximumOfKind)

            _ = try await auth.register("ada")
            for number in 0..<KnownDevice.maximum {
                if number.isMultiple(of: 20) { clock.advance(seconds: 60) }
                #expect(try await auth.login("ada", device: "device \(number)").status == 200)
            }
            #expect(try await count("known_devices", auth) == KnownDevice.maximum)
        }
    }

    @Test("A device with a token signs in while other clients' failures block the account")
    func deviceToken() async throws {
        let settings = ["LOGIN_FAILURES": "3", "LOGIN_FAILURES_PER_ADDRESS_MAX": "5"]
        try await withAuth(settings: settings) { auth in
            for name in ["ada", "bo"] { _ = try await auth.register(name) }
            let home = "203.0.113.7"
            let first = try await login(auth, "ada", token: nil, address: home)
            let token = try #require(first.json["deviceToken"].string)
            #expect(token.utf8.count == 43)
            for _ in 0..<6 { _ = try await auth.login("ada", password: wrong, address: "198.51.100.1") }
            #expect(try await auth.login("ada", address: home).status == 429)
            let kept = try await login(auth, "ada", token: token, address: home)
            #expect(kept.status == 200)
            #expect(kept.json["deviceToken"].string == token)

            // A token of another account, an unknown token and a deviceId do not help.
            let others = try await login(auth, "bo", token: nil, address: home).json["deviceToken"].string
            for unknown in [others, DeviceToken.random().text, "", "no token"] {
                #expect(try await login(auth, "ada", token: unknown, address: home).status == 429)
            }
            #expect(try await login(auth, "ada", token: nil, device: "phone", address: home).status == 429)

            // The device's failures are counted separately, and also count for its address.
            for _ in 0..<3 {
                #expect(try await login(auth, "ada", password: wrong, token: token, address: home).status == 401)
            }
            #expect(try await login(auth, "ada", token: token, address: home).status == 429)
            for _ in 0..<2 { _ = try await auth.login("nobody", password: wrong, address: home) }
            #expect(try await auth.login("bo", address: home).status == 429)
        }
    }

    @Test("A deviceId is recognised only in the network that it has signed in from")
    func deviceID() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "3"]) { auth in
            _ = try await auth.register("ada")
            let home = "2001:db8:0:1::1"
            #expect(try await auth.login("ada", device: "phone", address: home).status == 200)
            for _ in 0..<3 { _ = try await auth.login("ada", password: wrong, address: "198.51.100.1") }

            #expect(try await auth.login("ada", device: "phone", address: "198.51.100.1").status == 429)
            #expect(try await auth.login("ada", device: "phone", address: "2001:db8:0:1::2").status == 200)
        }
    }

    @Test("A deviceId does not get around the limit of an address")
    func spraying() async throws {
        let settings = ["LOGIN_FAILURES": "10", "LOGIN_FAILURES_PER_ADDRESS_MAX": "4"]
        try await withAuth(settings: settings) { auth in
            let address = "203.0.113.7"
            for name in ["ada", "bo"] {
                _ = try await auth.register(name)
                #expect(try await auth.login(name, device: "phone", address: address).status == 200)
            }
            for _ in 0..<4 {
                let answer = try await auth.login("ada", password: wrong, device: "phone", address: address)
                #expect(answer.status == 401)
            }
            for name in ["ada", "bo"] {
                #expect(try await auth.login(name, password: wrong, device: "phone", address: address).status == 429)
            }
        }
    }

    @Test("A recognised device has a separate count for the second factor")
    func secondFactor() async throws {
        let clock = TestClock()
        try await withAuth(settings: ["LOGIN_FAILURES": "3"], clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            let app = try await auth.addApp(of: ada, at: clock)
            let home = "203.0.113.7"
            func challenge(_ token: String?, _ address: String) async throws -> String? {
                try await login(auth, "ada", token: token, address: address).json["challenge"].string
            }
            let first = try await auth.finish(try await challenge(nil, home), app.code())
            let token = try #require(first.json["deviceToken"].string)

            for _ in 0..<3 { _ = try await auth.finish(try await challenge(nil, "198.51.100.1"), "000000") }
            #expect(try await auth.finish(try await challenge(nil, home), app.recoveryCodes[0]).status == 429)
            #expect(try await auth.finish(try await challenge(token, home), app.recoveryCodes[1]).status == 200)
        }
    }
}
