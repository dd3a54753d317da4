import AuthAPI
import Crypto
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Passwords that are forgotten, changed, guessed or breached.
@Suite("Passwords", .timeLimit(.minutes(5))) struct PasswordTests {
    private static let new = "a new horse for a new day"

    @Test("A reset sets the password, ends all sessions and informs the user")
    func resetPassword() async throws {
        try await withMail { fixture in
            let ada = try await fixture.verified("ada", "ada@example.org")
            #expect(try await fixture.requestReset("ADA@example.org").status == 200)
            let token = try await fixture.token(to: "ada@example.org", count: 2)

            #expect(try await fixture.reset(token, to: Self.new).status == 200)

            #expect(try await fixture.auth.login("ada").status == 401)
            #expect(try await fixture.auth.login("ada", password: Self.new).status == 200)
            #expect(try await fixture.auth.refresh(ada.refreshToken).status == 401)
            #expect(try await fixture.auth.me(ada.jwt).status == 403)
            #expect(try await fixture.reset(token, to: Auth.password).status == 400)
            let mails = try await fixture.mails(to: "ada@example.org", count: 3)
            #expect(mails.last?.subject == "Your password at Roost was changed")
        }
    }

    @Test("Of concurrent resets with one link, one succeeds")
    func concurrentResets() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            _ = try await fixture.requestReset("ada@example.org")
            let token = try await fixture.token(to: "ada@example.org", count: 2)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<6 {
                    group.addTask { try await fixture.reset(token, to: "password number \(number)").status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 400, 400, 400, 400, 400])
        }
    }

    @Test("A reset link is valid for an hour")
    func linkLifetime() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            _ = try await fixture.requestReset("ada@example.org")
            let token = try await fixture.token(to: "ada@example.org", count: 2)
            fixture.clock.advance(seconds: 3_601)
            #expect(try await fixture.reset(token, to: Self.new).problem?.code == "invalid_email_token")
        }
    }

    /// An address that folds to a verified one may be another mailbox, so the link goes to the verified one.
    @Test("A reset for a lookalike address is sent to the verified address")
    func lookalikeAddress() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("smith", "smith@example.org")
            let lookalike = "\u{17F}mith@example.org"
            #expect(NameFolding.fold(lookalike) == "smith@example.org")
            #expect(try await fixture.requestReset(lookalike).status == 200)
            #expect(try await fixture.mails(to: "smith@example.org", count: 2).last?.links.count == 1)
            #expect(fixture.sandbox.mailbox.mails(to: lookalike).isEmpty)
        }
    }

    /// The address is looked up when the mail is sent, so the work before the response is the same.
    @Test("The response to a reset request is the same for known and unknown addresses")
    func unknownAddress() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            try await fixture.drainOutbox()
            let known = try await fixture.requestReset("ada@example.org")
            let unknown = try await fixture.requestReset("nobody@example.org")
            #expect(known.status == 200)
            #expect(unknown.status == 200)
            #expect(known.text == unknown.text)
            #expect(Set(known.headers.map(\.name)) == Set(unknown.headers.map(\.name)))
            _ = try await fixture.mails(to: "ada@example.org", count: 2)
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails(to: "nobody@example.org").isEmpty)
        }
    }

    @Test("An unverified address gets no reset link")
    func unverifiedAddress() async throws {
        try await withMail { fixture in
            _ = try await fixture.auth.post(
                "/auth/register",
                json(["username": "ada", "password": .string(Auth.password), "email": "ada@example.org"])
            )
            _ = try await fixture.mails(to: "ada@example.org")
            #expect(try await fixture.requestReset("ada@example.org").status == 200)
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails(to: "ada@example.org").count == 1)
        }
    }

    @Test("Reset requests are limited by client address")
    func clientLimit() async throws {
        try await withMail { fixture in
            for number in 0..<EmailOutbox.perCaller {
                let answer = try await fixture.requestReset("\(number)@example.org", address: "203.0.113.7")
                #expect(answer.status == 200)
            }
            #expect(try await fixture.requestReset("x@example.org", address: "203.0.113.7").status == 429)
            #expect(try await fixture.requestReset("x@example.org", address: "203.0.113.8").status == 200)
        }
    }

    @Test("Changing the password ends the other sessions")
    func changePassword() async throws {
        try await withMail { fixture in
            let ada = try await fixture.auth.signUp("ada")
            let other = try await fixture.auth.signIn("ada")
            func change(_ current: String) async throws -> TestHTTPResponse {
                try await fixture.auth.post(
                    "/auth/password",
                    json(["currentPassword": .string(current), "newPassword": .string(Self.new)]),
                    token: ada.jwt
                )
            }
            let wrong = try await change("a wrong password")
            #expect(wrong.status == 403)
            #expect(wrong.problem?.code == "wrong_password")
            #expect(wrong.problem?.field == "currentPassword")
            #expect(try await change(Auth.password).status == 200)

            #expect(try await fixture.auth.me(ada.jwt).status == 200)
            #expect(try await fixture.auth.refresh(ada.refreshToken).status == 200)
            #expect(try await fixture.auth.me(other.jwt).status == 403)
            #expect(try await fixture.auth.login("ada").status == 401)
            #expect(try await fixture.auth.login("ada", password: Self.new).status == 200)
        }
    }

    @Test("Guesses of the current password are limited, and logins are not affected")
    func guessLimit() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "3"]) { auth in
            let ada = try await auth.signUp("ada")
            let guess = json(["currentPassword": "a guess at it", "newPassword": .string(Self.new)])
            for _ in 0..<3 {
                #expect(try await auth.post("/auth/password", guess, token: ada.jwt).status == 403)
            }
            #expect(try await auth.post("/auth/password", guess, token: ada.jwt).status == 429)
            // Logins are counted separately, so a thief with a session cannot lock the owner out.
            #expect(try await auth.login("ada").status == 200)
        }
    }

    @Test("A breached password is refused")
    func breachedPassword() async throws {
        let file = NSTemporaryDirectory() + "breached-\(UUID().uuidString)"
        // A temporary file may stay behind.
        defer { try? FileManager.default.removeItem(atPath: file) }
        let stolen = (0..<500).map { "stolen password \($0)" }
        let lines = stolen.map { password in
            let hash = Insecure.SHA1.hash(data: Data(password.utf8)).map { String(format: "%02X", $0) }.joined()
            return "\(hash):\(password.count)"
        }
        try lines.sorted().joined(separator: "\r\n").write(toFile: file, atomically: true, encoding: .utf8)

        let list = try BreachedPasswords(path: file)
        for password in stolen { #expect(try list.contains(password), "\(password)") }
        for number in 500..<1_000 { #expect(try !list.contains("stolen password \(number)")) }

        try await withAuth(settings: ["BREACHED_PASSWORDS_FILE": file]) { auth in
            let ada = try await auth.signUp("ada")
            for (path, field) in [("/auth/register", "password"), ("/auth/password", "newPassword")] {
                let answer = try await auth.post(
                    path,
                    json([
                        "username": "bo", "currentPassword": .string(Auth.password), field: "stolen password 77",
                    ]),
                    token: path == "/auth/password" ? ada.jwt : nil
                )
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "breached_password")
                #expect(answer.problem?.field == field)
            }
        }
    }

    @Test(
        "A malformed or missing list of breached passwords is refused",
        arguments: ["", "not a hash\n", "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8\n"]
    )
    func malformedList(_ text: String) throws {
        let file = NSTemporaryDirectory() + "breached-\(UUID().uuidString)"
        // A temporary file may stay behind.
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(throws: SettingError.self) { try BreachedPasswords(path: file) }
        #expect(throws: SettingError.self) { try BreachedPasswords(path: "/nowhere/at/all") }
    }

    /// A mail scanner that opens the link must not use it up, so the page does it by script.
    @Test("The pages of mail links allow only their own script and style")
    func contentSecurityPolicy() async throws {
        try await withAuth { auth in
            for path in ["/auth/password/reset", "/auth/email/verify"] {
                let page = try await auth.service.send(.get, path)
                #expect(page.status == 200)
                #expect(page.headers[.contentType] == "text/html; charset=utf-8")
                let policy = try #require(page.headers[.contentSecurityPolicy])
                for element in ["script", "style"] {
                    let source = EmailLinkPage.source(element, of: page.text)
                    #expect(source.hasPrefix("'sha256-"))
                    #expect(policy.contains("\(element)-src \(source)"))
                }
                #expect(policy.hasPrefix("default-src 'none'"))
                #expect(!policy.contains("unsafe"))
            }
        }
    }
}
