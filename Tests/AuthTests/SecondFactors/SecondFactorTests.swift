import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// A user with an authenticator app.
private struct Phone {
    let auth: Auth
    let person: Auth.Person
    let app: AuthenticatorApp

    func challenge(device: String? = nil) async throws -> String {
        let answer = try await auth.login(person.username, device: device)
        try #require(answer.status == 401 && answer.problem?.code == "mfa_required", "\(answer.text)")
        return try #require(answer.json["challenge"].string)
    }

    func finish(_ challenge: String, _ code: String) async throws -> TestHTTPResponse {
        try await auth.finish(challenge, code)
    }
}

private func withPhone(
    settings: [String: String] = [:],
    device: String? = nil,
    _ body: @Sendable (Phone) async throws -> Void
) async throws {
    let clock = TestClock()
    try await withAuth(settings: settings, clock: clock) { auth in
        let ada = try await auth.signUp("ada", device: device)
        try await body(Phone(auth: auth, person: ada, app: try await auth.addApp(of: ada, at: clock)))
    }
}

@Suite("Second factors", .timeLimit(.minutes(5))) struct SecondFactorTests {
    @Test("A sign-in is completed with a code of the app, once")
    func signIn() async throws {
        try await withPhone { phone in
            let challenge = try await phone.challenge()
            #expect(try await phone.finish(challenge, "000000").status == 401 || phone.app.code() == "000000")
            let signedIn = try await phone.finish(challenge, phone.app.code())
            #expect(signedIn.status == 200)
            #expect(signedIn.headers[.cacheControl] == "no-store")
            let jwt = try signedIn.decode(SignIn.self).jwt
            #expect(try await phone.auth.me(jwt).status == 200)
            #expect(try await phone.finish(challenge, phone.app.code(in: 1)).problem?.code == "invalid_challenge")
        }
    }

    @Test("An app counts only once it is confirmed")
    func unconfirmed() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            #expect(try await auth.service.send(.post, "/auth/mfa/totp", token: ada.jwt).status == 200)
            #expect(try await auth.login("ada").status == 200)
            let wrong = try await auth.post("/auth/mfa/totp/confirm", json(["code": "12345"]), token: ada.jwt)
            #expect(wrong.status == 400)
            #expect(wrong.problem?.field == "code")
        }
    }

    @Test("A code works once, and no earlier code works after it")
    func singleUse() async throws {
        try await withPhone { phone in
            let (first, second) = (try await phone.challenge(), try await phone.challenge())
            #expect(try await phone.finish(first, phone.app.code()).status == 200)
            #expect(try await phone.finish(second, phone.app.code()).status == 401)
            // An earlier code does not work either.
            #expect(try await phone.finish(second, phone.app.code(in: -1)).status == 401)
            #expect(try await phone.finish(second, phone.app.code(in: 1)).status == 200)
        }
    }

    @Test("A code may be one period early or late")
    func clockSkew() async throws {
        try await withPhone { phone in
            for (periods, status) in [(-2, 401), (2, 401), (-1, 200), (1, 200)] as [(Int64, Int)] {
                let challenge = try await phone.challenge()
                #expect(try await phone.finish(challenge, phone.app.code(in: periods)).status == status, "\(periods)")
            }
        }
    }

    @Test("A recovery code works once, in any spelling")
    func recoveryCode() async throws {
        try await withPhone { phone in
            #expect(Set(phone.app.recoveryCodes).count == RecoveryCode.count)
            let typed = phone.app.recoveryCodes[0].lowercased().replacing("-", with: " ")
            for (code, status) in [(typed, 200), (phone.app.recoveryCodes[0], 401), (phone.app.recoveryCodes[1], 200)] {
                let challenge = try await phone.challenge()
                #expect(try await phone.finish(challenge, code).status == status)
            }
        }
    }

    @Test("Guesses are limited for a challenge and for an account")
    func guessLimit() async throws {
        try await withPhone(settings: ["LOGIN_FAILURES": "8"]) { phone in
            let first = try await phone.challenge()
            for _ in 0..<SecondFactors.attempts {
                #expect(try await phone.finish(first, "guess").status == 401)
            }
            #expect(try await phone.finish(first, phone.app.code()).problem?.code == "invalid_challenge")
            let second = try await phone.challenge()
            for _ in 0..<3 { #expect(try await phone.finish(second, "guess").status == 401) }
            let refused = try await phone.finish(second, phone.app.code())
            #expect(refused.status == 429)
            #expect(refused.headers[.retryAfter] != nil)
        }
    }

    @Test("Guesses of a stranger do not lock out a known device")
    func knownDevice() async throws {
        try await withPhone(settings: ["LOGIN_FAILURES": "2"], device: "phone-7f3a") { phone in
            let foreign = try await phone.challenge(device: "another")
            for _ in 0..<4 { _ = try await phone.finish(foreign, "guess") }
            let another = try await phone.challenge()
            #expect(try await phone.finish(another, phone.app.code()).status == 429)
            let own = try await phone.challenge(device: "phone-7f3a")
            #expect(try await phone.finish(own, phone.app.code()).status == 200)
        }
    }

    @Test("Concurrent guesses cannot exceed the limit")
    func concurrentGuesses() async throws {
        try await withPhone(settings: ["LOGIN_FAILURES": "8"]) { phone in
            let (first, second) = (try await phone.challenge(), try await phone.challenge())
            let codes = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<20 {
                    let challenge = number.isMultiple(of: 2) ? first : second
                    group.addTask { try await phone.finish(challenge, "guess").problem?.code }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(codes.count { $0 == "invalid_mfa_code" } == 8, "\(codes)")
            #expect(Set(codes).isSubset(of: ["invalid_mfa_code", "invalid_challenge", "too_many_login_failures"]))
            let refused = try await phone.finish(try await phone.challenge(), phone.app.code())
            #expect(refused.status == 429)
        }
    }

    @Test("Of concurrent sign-ins with one challenge, one succeeds")
    func concurrentSignIns() async throws {
        try await withPhone { phone in
            let challenge = try await phone.challenge()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await phone.finish(challenge, phone.app.code()).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(Set(statuses).isSubset(of: [200, 401, 429]))
        }
    }

    @Test("A challenge expires after five minutes")
    func challengeExpiry() async throws {
        try await withPhone { phone in
            let challenge = try await phone.challenge()
            phone.app.clock.advance(seconds: 301)
            #expect(try await phone.finish(challenge, phone.app.code()).problem?.code == "invalid_challenge")
        }
    }

    @Test("Removing the app needs a code")
    func removal() async throws {
        try await withPhone { phone in
            func turnOff(_ code: String) async throws -> TestHTTPResponse {
                try await phone.auth.service.send(
                    .delete,
                    "/auth/mfa/totp",
                    token: phone.person.jwt,
                    body: json(["code": .string(code)])
                )
            }
            let refused = try await turnOff("guess")
            #expect(refused.problem?.code == "invalid_mfa_code")
            #expect(try await phone.auth.login("ada").status == 401)
            #expect(try await turnOff(phone.app.code()).status == 200)
            #expect(try await phone.auth.login("ada").status == 200)
            #expect(try await turnOff(phone.app.recoveryCodes[0]).status == 404)
        }
    }

    @Test("A second app is refused")
    func secondApp() async throws {
        try await withPhone { phone in
            let again = try await phone.auth.post(
                "/auth/mfa/totp",
                json(["password": .string(Auth.password)]),
                token: phone.person.jwt
            )
            #expect(again.status == 409)
            #expect(again.problem?.code == "mfa_already_enabled")
        }
    }

    @Test("Adding an app needs a recent sign-in and a registered account")
    func oldSession() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            clock.advance(seconds: 301)
            let refused = try await auth.service.send(.post, "/auth/mfa/totp", token: ada.jwt)
            #expect(refused.status == 403)
            #expect(refused.problem?.code == "recent_login_required")
            let anonymous = try await auth.anonymous()
            #expect(try await auth.service.send(.post, "/auth/mfa/totp", token: anonymous.jwt).status == 409)
        }
    }

    /// Access to the mailbox does not replace the phone.
    @Test("A password reset does not remove the second factor")
    func passwordReset() async throws {
        try await withMail { fixture in
            let ada = try await fixture.verified("ada", "ada@example.org")
            _ = try await fixture.auth.addApp(of: ada, at: fixture.clock)
            _ = try await fixture.mails(to: "ada@example.org", count: 2)
            _ = try await fixture.requestReset("ada@example.org")
            let token = try await fixture.token(to: "ada@example.org", count: 3)
            #expect(try await fixture.reset(token, to: "a new horse for a new day").status == 200)
            let login = try await fixture.auth.login("ada", password: "a new horse for a new day")
            #expect(login.status == 401)
            #expect(login.problem?.code == "mfa_required")
        }
    }

    @Test("The secret is encrypted, and recovery codes are stored as hashes")
    func encryptedAtRest() async throws {
        try await withPhone { phone in
            let pool = phone.auth.service.database.pool
            let ciphertext = try await pool.one("SELECT encrypted_secret FROM totp_factors") {
                try $0.decode("encrypted_secret", as: Data.self)
            }
            #expect(ciphertext.range(of: phone.app.totp.secret) == nil)
            let hashes = try await pool.all("SELECT hash FROM recovery_codes") { try $0.decode("hash", as: Data.self) }
            #expect(hashes.count == RecoveryCode.count)
        }
    }
}
