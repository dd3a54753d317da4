import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Refresh tokens") struct RefreshTests {
    @Test("A refresh gives new tokens, and the old access token stays valid")
    func rotation() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            clock.advance(seconds: 1)
            let answer = try await auth.refresh(ada.refreshToken)
            #expect(answer.status == 200)
            #expect(answer.headers[.cacheControl] == "no-store")
            let next = try answer.decode(SignIn.self)
            #expect(next.userId == ada.userId)
            #expect(next.refreshToken != ada.refreshToken)
            #expect(next.jwt != ada.jwt)
            #expect(try await auth.me(next.jwt).status == 200)
            #expect(try await auth.me(ada.jwt).status == 200)
        }
    }

    @Test("A refresh whose response was lost can be repeated until its token was used")
    func lostResponse() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            _ = try await auth.next(ada.refreshToken)
            clock.advance(seconds: 86_400)
            _ = try await auth.next(ada.refreshToken)
            clock.advance(seconds: 86_400)
            let taken = try await auth.next(ada.refreshToken)

            _ = try await auth.next(taken)
        }
    }

    @Test("Concurrent refreshes with one token all succeed")
    func concurrentRefreshes() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let answers = try await withThrowingTaskGroup(of: TestHTTPResponse.self) { group in
                for _ in 0..<50 { group.addTask { try await auth.refresh(ada.refreshToken) } }
                return try await group.reduce(into: [TestHTTPResponse]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.status))")
            let tokens = try answers.map { try $0.decode(SignIn.self).refreshToken }
            #expect(Set(tokens).count == 50)

            // The session continues with any of the tokens that the client kept.
            for token in tokens { _ = try await auth.next(token) }
            #expect(try await auth.me(ada.jwt).status == 200)
        }
    }

    @Test("Reuse of a token whose successor was used ends the session")
    func reuseEndsSession() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let other = try await auth.signIn("ada")
            let second = try await auth.next(ada.refreshToken)
            let third = try await auth.next(second)

            // A thief who copied the first token, on another device.
            let stolen = try await auth.refresh(ada.refreshToken)
            #expect(stolen.status == 401)
            #expect(stolen.problem?.code == "invalid_refresh_token")

            #expect(try await auth.refresh(third).status == 401)
            #expect(try await auth.me(ada.jwt).status == 403)
            #expect(try await auth.me(other.jwt).status == 200)
            #expect(try await auth.refresh(other.refreshToken).status == 200)
        }
    }

    @Test("The same device may reuse a token for ten seconds")
    func reuseGraceForSameDevice() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            let second = try await auth.next(ada.refreshToken, device: "phone")
            _ = try await auth.next(second, device: "phone")

            clock.advance(seconds: 10)
            let sibling = try await auth.next(ada.refreshToken, device: "phone")
            _ = try await auth.next(sibling, device: "phone")

            clock.advance(seconds: 0.5)
            #expect(try await auth.refresh(ada.refreshToken, device: "phone").status == 401)
            #expect(try await auth.refresh(sibling, device: "phone").status == 401)
        }
    }

    @Test("Another device may not reuse a token within ten seconds", arguments: [nil, "another phone"])
    func noGraceForOtherDevice(_ device: String?) async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            let second = try await auth.next(ada.refreshToken, device: "phone")
            let third = try await auth.next(second, device: "phone")

            #expect(try await auth.refresh(ada.refreshToken, device: device).status == 401)
            #expect(try await auth.refresh(third, device: "phone").status == 401)
        }
    }

    @Test("Reuse of a token that was already deleted ends the session")
    func prunedTokenEndsSession() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            var token = ada.refreshToken
            for _ in 0..<4 {
                token = try await auth.next(token)
                clock.advance(seconds: 3_000)
            }
            let kept = try await auth.service.database.pool.one("SELECT count(*) AS tokens FROM refresh_tokens") {
                try $0.int("tokens")
            }
            #expect(kept < 5)

            #expect(try await auth.refresh(ada.refreshToken).status == 401)
            #expect(try await auth.refresh(token).status == 401)
        }
    }

    @Test("A forged token is refused and does not end the session")
    func forgedToken() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let bytes = try #require(Base64URL.decode(ada.refreshToken))
            for index in [16, 40, 63] {
                var forged = bytes
                forged[index] ^= 1
                #expect(try await auth.refresh(Base64URL.encode(forged)).status == 401)
            }
            var other = bytes
            other[0] ^= 1
            for forged in [Base64URL.encode(other), "x", ada.refreshToken + "=", ada.jwt, ada.userId] {
                #expect(try await auth.refresh(forged).status == 401)
            }
            #expect(try await auth.refresh(ada.refreshToken).status == 200)
        }
    }

    @Test("A session ends after 30 days without a refresh")
    func idleLifetime() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            clock.advance(seconds: 29 * 86_400)
            let second = try await auth.next(ada.refreshToken)
            clock.advance(seconds: 30 * 86_400)
            #expect(try await auth.refresh(second).status == 401)
        }
    }

    @Test("A session ends after 90 days, and its last access token with it")
    func maximumLifetime() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            var token = ada.refreshToken
            for _ in 0..<4 {
                clock.advance(seconds: 22 * 86_400)
                token = try await auth.next(token)
            }
            clock.advance(seconds: 2 * 86_400 - 600)
            let last = try await auth.refresh(token).decode(SignIn.self)
            #expect(last.expiresIn == 600)
            clock.advance(seconds: 600)
            #expect(try await auth.refresh(last.refreshToken).status == 401)
            #expect(try await auth.me(last.jwt).status == 403)
        }
    }

    @Test("The database has no refresh token, only its hash")
    func storedAsHash() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let bytes = try #require(Base64URL.decode(ada.refreshToken))
            let hashes = try await auth.service.database.pool.all("SELECT hash FROM refresh_tokens") {
                try $0.decode("hash", as: Data.self)
            }
            #expect(hashes.count == 1)
            #expect(!hashes.contains { bytes.range(of: $0) != nil })
        }
    }

    @Test("Reuse is detected across instances")
    func twoInstances() async throws {
        try await withTwoAuths { first, second in
            let ada = try await first.signUp("ada")
            let next = try await second.next(ada.refreshToken)
            let third = try await first.next(next)
            #expect(try await second.refresh(ada.refreshToken).status == 401)
            #expect(try await first.refresh(third).status == 401)
        }
    }
}
