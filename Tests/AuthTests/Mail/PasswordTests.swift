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

/// Passwords that are forgotten, changed, or known to too many.
@Suite(.timeLimit(.minutes(5))) struct PasswordTests {
    private static let new = "a new horse for a new day"

    @Test func aForgottenPasswordIsReplacedAndEverySessionEnds() async throws {
        try await withMail { scene in
            let ada = try await scene.verified("ada", "ada@example.org")
            #expect(try await scene.forget("ADA@example.org").status == 200)
            let token = try await scene.token(to: "ada@example.org", count: 2)

            #expect(try await scene.reset(token, to: Self.new).status == 200)

            #expect(try await scene.auth.login("ada").status == 401)
            #expect(try await scene.auth.login("ada", password: Self.new).status == 200)
            #expect(try await scene.auth.refresh(ada.refreshToken).status == 401)
            #expect(try await scene.auth.me(ada.jwt).status == 403)
            #expect(try await scene.reset(token, to: Auth.password).status == 400)
            let told = try await scene.mails(to: "ada@example.org", count: 3)
            #expect(told.last?.subject == "Your password at Roost was changed")
        }
    }

    @Test func aLinkIsUsedOnceHoweverManyTryAtOnce() async throws {
        try await withMail { scene in
            _ = try await scene.verified("ada", "ada@example.org")
            _ = try await scene.forget("ada@example.org")
            let token = try await scene.token(to: "ada@example.org", count: 2)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<6 {
                    group.addTask { try await scene.reset(token, to: "password number \(number)").status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 400, 400, 400, 400, 400])
        }
    }

    @Test func aLinkIsOldAfterAnHour() async throws {
        try await withMail { scene in
            _ = try await scene.verified("ada", "ada@example.org")
            _ = try await scene.forget("ada@example.org")
            let token = try await scene.token(to: "ada@example.org", count: 2)
            scene.clock.advance(seconds: 3_601)
            #expect(try await scene.reset(token, to: Self.new).problem?.code == "invalid_email_token")
        }
    }

    /// What folds to an address may be another's mailbox: the link goes to the one that was verified.
    @Test func aLookalikeOfAnAddressIsNotWrittenTo() async throws {
        try await withMail { scene in
            _ = try await scene.verified("smith", "smith@example.org")
            let lookalike = "\u{17F}mith@example.org"
            #expect(NameFolding.fold(lookalike) == "smith@example.org")
            #expect(try await scene.forget(lookalike).status == 200)
            #expect(try await scene.mails(to: "smith@example.org", count: 2).last?.links.count == 1)
            #expect(scene.sandbox.mailbox.mails(to: lookalike).isEmpty)
        }
    }

    /// It is looked up when the mail is written, so what is done before the answer is the same.
    @Test func whetherAnAddressIsAnybodysCannotBeTold() async throws {
        try await withMail { scene in
            _ = try await scene.verified("ada", "ada@example.org")
            try await scene.settle()
            let known = try await scene.forget("ada@example.org")
            let unknown = try await scene.forget("nobody@example.org")
            #expect(known.status == 200 && unknown.status == 200)
            #expect(known.text == unknown.text)
            #expect(Set(known.headers.map(\.name)) == Set(unknown.headers.map(\.name)))
            _ = try await scene.mails(to: "ada@example.org", count: 2)
            try await scene.settle()
            #expect(scene.sandbox.mailbox.mails(to: "nobody@example.org").isEmpty)
        }
    }

    @Test func anAddressThatIsNotVerifiedRecoversNothing() async throws {
        try await withMail { scene in
            _ = try await scene.auth.post(
                "/auth/register",
                json(["username": "ada", "password": .string(Auth.password), "email": "ada@example.org"])
            )
            _ = try await scene.mails(to: "ada@example.org")
            #expect(try await scene.forget("ada@example.org").status == 200)
            try await scene.settle()
            #expect(scene.sandbox.mailbox.mails(to: "ada@example.org").count == 1)
        }
    }

    @Test func oneClientHasOnlySoManyMailsWritten() async throws {
        try await withMail { scene in
            for number in 0..<Mails.perCaller {
                let answer = try await scene.forget("\(number)@example.org", address: "203.0.113.7")
                #expect(answer.status == 200)
            }
            #expect(try await scene.forget("x@example.org", address: "203.0.113.7").status == 429)
            #expect(try await scene.forget("x@example.org", address: "203.0.113.8").status == 200)
        }
    }

    @Test func aChangedPasswordEndsTheOtherSessions() async throws {
        try await withMail { scene in
            let ada = try await scene.auth.signUp("ada")
            let other = try await scene.auth.signIn("ada")
            func change(_ current: String) async throws -> TestAnswer {
                try await scene.auth.post(
                    "/auth/password",
                    json(["currentPassword": .string(current), "newPassword": .string(Self.new)]),
                    token: ada.jwt
                )
            }
            let wrong = try await change("not her password")
            #expect(wrong.status == 403 && wrong.problem?.code == "wrong_password")
            #expect(wrong.problem?.field == "currentPassword")
            #expect(try await change(Auth.password).status == 200)

            #expect(try await scene.auth.me(ada.jwt).status == 200)
            #expect(try await scene.auth.refresh(ada.refreshToken).status == 200)
            #expect(try await scene.auth.me(other.jwt).status == 403)
            #expect(try await scene.auth.login("ada").status == 401)
            #expect(try await scene.auth.login("ada", password: Self.new).status == 200)
        }
    }

    @Test func guessingTheCurrentPasswordIsSlowedDown() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "3"]) { auth in
            let ada = try await auth.signUp("ada")
            let guess = json(["currentPassword": "a guess at it", "newPassword": .string(Self.new)])
            for _ in 0..<3 {
                #expect(try await auth.post("/auth/password", guess, token: ada.jwt).status == 403)
            }
            #expect(try await auth.post("/auth/password", guess, token: ada.jwt).status == 429)
            // Logging in is counted by itself: a thief of a session keeps its owner from nothing.
            #expect(try await auth.login("ada").status == 200)
        }
    }

    @Test func aPasswordThatOthersKnowIsRefused() async throws {
        let file = NSTemporaryDirectory() + "breached-\(UUID().uuidString)"
        // Silence: it is a temporary file.
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

        try await withAuth(settings: ["BREACHED_PASSWORDS": file]) { auth in
            let ada = try await auth.signUp("ada")
            for (path, field) in [("/auth/register", "password"), ("/auth/password", "newPassword")] {
                let answer = try await auth.post(
                    path,
                    json([
                        "username": "bo", "currentPassword": .string(Auth.password), field: "stolen password 77",
                    ]),
                    token: path == "/auth/password" ? ada.jwt : nil
                )
                #expect(answer.status == 400 && answer.problem?.code == "breached_password")
                #expect(answer.problem?.field == field)
            }
        }
    }

    @Test(arguments: ["", "not a hash\n", "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8\n"])
    func aListThatIsNoneEndsTheStart(_ text: String) throws {
        let file = NSTemporaryDirectory() + "breached-\(UUID().uuidString)"
        // Silence: it is a temporary file.
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(throws: SettingError.self) { try BreachedPasswords(path: file) }
        #expect(throws: SettingError.self) { try BreachedPasswords(path: "/nowhere/at/all") }
    }

    /// What looks at every link in a mail must not use it up.
    @Test func thePageOfALinkRunsItsOwnScriptAlone() async throws {
        try await withAuth { auth in
            for path in ["/auth/password/reset", "/auth/email/verify"] {
                let page = try await auth.service.send(.get, path)
                #expect(page.status == 200 && page.headers[.contentType] == "text/html; charset=utf-8")
                let policy = try #require(page.headers[.contentSecurityPolicy])
                for element in ["script", "style"] {
                    let source = LinkPage.source(element, of: page.text)
                    #expect(source.hasPrefix("'sha256-") && policy.contains("\(element)-src \(source)"))
                }
                #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"))
            }
        }
    }
}
