import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Sign-in") struct SignInTests {
    @Test("A wrong password and an unknown name get the same response")
    func wrongPasswordOrUnknownName() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada")
            let wrong = try await auth.login("ada", password: "a wrong password")
            let unknown = try await auth.login("nobody", password: "a wrong password")

            for answer in [wrong, unknown] {
                #expect(answer.status == 401)
                #expect(answer.problem?.code == "invalid_login")
                #expect(answer.problem?.field == nil)
            }
            #expect(wrong.problem?.detail == unknown.problem?.detail)
            #expect(Set(wrong.headers.map(\.name)) == Set(unknown.headers.map(\.name)))
        }
    }

    @Test(
        "A password is compared exactly, spaces and case included",
        arguments: ["  two outer spaces  ", "pässwörd", "emoji 🐔🐔🐔🐔", String(repeating: "x", count: 128)]
    )
    func verbatimPasswords(_ password: String) async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada", password: password)
            #expect(try await auth.login("ada", password: password).status == 200)
            let trimmed = password.trimmingCharacters(in: .whitespaces)
            if trimmed != password {
                #expect(try await auth.login("ada", password: trimmed).status == 401)
            }
            #expect(try await auth.login("ada", password: password.uppercased()).status == 401)
        }
    }

    @Test("Two normalization forms of a password are equal")
    func passwordNormalization() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada", password: "caf\u{E9} au lait")
            #expect(try await auth.login("ada", password: "cafe\u{301} au lait").status == 200)
        }
    }

    @Test("A login replaces a hash with old parameters")
    func rehash() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada")
            let pool = auth.service.database.pool
            let old = try Argon2id.hash(Auth.password, parameters: .init(memory: 64, passes: 1, lanes: 1))
            try await pool.run("UPDATE accounts SET password_hash = \(old)")

            #expect(try await auth.login("ada").status == 200)
            let hash = try await pool.one("SELECT password_hash FROM accounts") { try $0.string("password_hash") }
            #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(try await auth.login("ada").status == 200)
        }
    }

    @Test("Each anonymous sign-in makes a new account")
    func newAnonymousAccounts() async throws {
        try await withAuth { auth in
            let first = try await auth.anonymous(device: "phone")
            let second = try await auth.anonymous(device: "phone")
            #expect(first.userId != second.userId)
            #expect(try await auth.me(first.jwt).json["username"] == .null)
        }
    }

    @Test("An anonymous user who signs in again keeps the account")
    func repeatedAnonymousSignIn() async throws {
        try await withAuth { auth in
            let guest = try await auth.anonymous()
            let again = try await auth.service.send(.post, "/auth/anonymous", token: guest.jwt, body: "{}")
            #expect(again.json["userId"].string == guest.userId)
            #expect(try await auth.refresh(guest.refreshToken).status == 200)

            let ada = try await auth.signUp("ada")
            let other = try await auth.service.send(.post, "/auth/anonymous", token: ada.jwt)
            #expect(other.status == 200)
            #expect(other.json["userId"].string != ada.userId)
        }
    }

    @Test("Routes that need no credential ignore an invalid one")
    func invalidCredentialOnOpenRoute() async throws {
        try await withAuth { auth in
            let answer = try await auth.service.send(.post, "/auth/anonymous", token: "expired.or.worse")
            #expect(answer.status == 200)
            let next = try await auth.service.send(
                .post,
                "/auth/refresh",
                token: "expired.or.worse",
                body: json(["refreshToken": .string(answer.json["refreshToken"].string ?? "")])
            )
            #expect(next.status == 200)
        }
    }

    @Test("A flood of logins is answered 503 with Retry-After, and later logins succeed")
    func loginFlood() async throws {
        let settings = ["HASHING_THREADS": "1", "LOGIN_FAILURES": "0", "LOGINS_PER_MINUTE": "0"]
        try await withAuth(settings: settings, change: { $0.hashingQueue = 2 }) { auth in
            _ = try await auth.register("ada")
            var answers: [TestHTTPResponse] = []
            // On a slow machine the requests may arrive so slowly that none is refused; then the flood is repeated.
            for _ in 0..<10 where !answers.contains(where: { $0.status == 503 }) {
                answers += try await withThrowingTaskGroup(of: TestHTTPResponse.self) { group in
                    for _ in 0..<20 { group.addTask { try await auth.login("ada") } }
                    return try await group.reduce(into: [TestHTTPResponse]()) { $0.append($1) }
                }
            }
            let busy = answers.filter { $0.status == 503 }
            #expect(Set(answers.map(\.status)) == [200, 503])
            #expect(busy.allSatisfy { $0.headers[.retryAfter] == "1" && $0.problem?.code == "overloaded" })
            #expect(try await auth.login("ada").status == 200)
        }
    }
}
