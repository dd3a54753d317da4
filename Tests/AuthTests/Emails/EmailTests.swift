import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// E-mail addresses: their verification, changes and limits.
@Suite("E-mail addresses", .timeLimit(.minutes(5))) struct EmailTests {
    @Test("A user signs in with an address once it is verified")
    func verification() async throws {
        try await withMail { fixture in
            let email = "Ada@Example.org"
            let body = json(["email": .string(email), "password": .string(Auth.password)])
            #expect(try await fixture.auth.post("/auth/register", body).status == 200)
            let early = try await fixture.auth.login(email)
            #expect(early.status == 401)
            #expect(early.problem?.code == "email_not_verified")

            try await fixture.verify(email)

            let ada = try await fixture.auth.signIn("ada@example.org")
            let me = try await fixture.auth.me(ada.jwt)
            #expect(me.json["email"].string == email)
            #expect(me.json["emailVerified"] == .bool(true))
        }
    }

    @Test("Only the right password reveals that an address is not verified")
    func unverified() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "ada@example.org")
            let right = try await fixture.auth.login("ADA@example.org")
            #expect(right.status == 401)
            #expect(right.problem?.code == "email_not_verified")
            #expect(right.problem?.detail.contains("/auth/email/resend") == true)

            let wrong = try await fixture.auth.login("ada@example.org", password: "a wrong password")
            let unknown = try await fixture.auth.login("bo@example.org", password: "a wrong password")
            for answer in [wrong, unknown] {
                #expect(answer.status == 401)
                #expect(answer.problem?.code == "invalid_login")
                #expect(answer.problem?.detail == wrong.problem?.detail)
            }
            #expect(try await fixture.auth.login("ada").status == 200)
        }
    }

    @Test("The password of the newest registration reveals that an address is not verified")
    func newestUnverified() async throws {
        try await withMail { fixture in
            for password in ["the first password", "the second password"] {
                let body = json(["email": "ada@example.org", "password": .string(password)])
                #expect(try await fixture.auth.post("/auth/register", body).status == 200)
                fixture.clock.advance(seconds: 1)
            }
            let newest = try await fixture.auth.login("ada@example.org", password: "the second password")
            #expect(newest.problem?.code == "email_not_verified")
            let older = try await fixture.auth.login("ada@example.org", password: "the first password")
            #expect(older.problem?.code == "invalid_login")
        }
    }

    @Test("After a registration, the login error is the same for a taken address as for a free one")
    func takenAddressIsNotRevealed() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            var answers: [TestHTTPResponse] = []
            for (name, address) in [("mallory", "ada@example.org"), ("eve", "free@example.org")] {
                let body = json([
                    "username": .string(name), "email": .string(address), "password": "a password of mallory",
                ])
                #expect(try await fixture.auth.post("/auth/register", body).status == 200)
                answers.append(try await fixture.auth.login(address, password: "a password of mallory"))
            }
            #expect(answers.map(\.status) == [401, 401])
            #expect(answers.map(\.problem?.code) == ["email_not_verified", "email_not_verified"])
            #expect(try await fixture.auth.login("ada@example.org").status == 200)
        }
    }

    @Test("A right password for an unverified address does not reset the count of failed logins")
    func failuresAreKept() async throws {
        try await withMail(settings: ["LOGIN_FAILURES": "3"]) { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            let body = json(["username": "eve", "email": "ada@example.org", "password": "a password of eve"])
            #expect(try await fixture.auth.post("/auth/register", body).status == 200)
            for _ in 0..<3 {
                #expect(try await fixture.auth.login("ada@example.org", password: "a wrong one").status == 401)
                let own = try await fixture.auth.login("ada@example.org", password: "a password of eve")
                #expect(own.status == 401 || own.status == 429)
            }
            #expect(try await fixture.auth.login("ada@example.org", password: "a wrong one").status == 429)
        }
    }

    @Test("A verification mail is sent again without a credential")
    func resend() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "Ada@example.org")
            _ = try await fixture.token(to: "Ada@example.org")

            #expect(try await fixture.resend("ada@example.org").status == 200)

            try await fixture.verify("Ada@example.org", count: 2)
            #expect(try await fixture.auth.login("ada@example.org").status == 200)
        }
    }

    @Test("The response to a request for another verification mail is the same for every address")
    func resendRevealsNothing() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            try await fixture.register("bo", "bo@example.org")
            var texts: Set<String> = []
            for address in ["ada@example.org", "bo@example.org", "unknown@example.org"] {
                let answer = try await fixture.resend(address)
                #expect(answer.status == 200)
                texts.insert(answer.text)
            }
            #expect(texts.count == 1)
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails(to: "unknown@example.org").isEmpty)
            // The owner of a verified address gets a mail without a link.
            #expect(try await fixture.mails(to: "ada@example.org", count: 2).last?.links.isEmpty == true)
            #expect(try await fixture.mails(to: "bo@example.org", count: 2).last?.links.count == 1)
        }
    }

    @Test("Verification mails are limited by address and by client")
    func resendLimits() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "ada@example.org")
            for _ in 0..<EmailOutbox.perAddress + 2 {
                #expect(try await fixture.resend("ada@example.org", from: "203.0.113.7").status == 200)
            }
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails(to: "ada@example.org").count == EmailOutbox.perAddress)

            var statuses: [Int] = []
            for number in 0..<EmailOutbox.strangersPerCaller {
                statuses.append(try await fixture.resend("\(number)@example.org", from: "203.0.113.7").status)
            }
            #expect(statuses.last == 429)
            #expect(try await fixture.resend("ada@example.org", from: "203.0.113.8").status == 200)
        }
    }

    @Test("A verification link works once and for a day")
    func linkLifetime() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            let used = try await fixture.token(to: "ada@example.org")
            let again = try await fixture.auth.post("/auth/email/verify", json(["token": .string(used)]))
            #expect(again.status == 400)
            #expect(again.problem?.field == "token")
            #expect(again.problem?.code == "invalid_email_token")

            try await fixture.register("bo", "bo@example.org")
            let late = try await fixture.token(to: "bo@example.org")
            fixture.clock.advance(seconds: 86_401)
            #expect(try await fixture.auth.post("/auth/email/verify", json(["token": .string(late)])).status == 400)
        }
    }

    @Test("A malformed link is a 400", arguments: ["", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "../../x"])
    func malformedLink(_ token: String) async throws {
        try await withMail { fixture in
            let answer = try await fixture.auth.post("/auth/email/verify", json(["token": .string(token)]))
            #expect(answer.status == 400)
            #expect(answer.problem?.field == "token")
            let reset = try await fixture.reset(token, to: "another password")
            #expect(reset.status == 400)
            #expect(reset.problem?.field == "token")
        }
    }

    @Test("The database has only the hash of a link's token")
    func storedAsHash() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "ada@example.org")
            let token = try await fixture.token(to: "ada@example.org")
            let kept = try await fixture.auth.service.database.pool.all("SELECT hash FROM email_links") {
                try $0.decode("hash", as: Data.self)
            }
            let hash = try #require(EmailLinkToken(token)).hash
            #expect(kept == [hash])
        }
    }

    @Test("A new address replaces the old one once it is verified, and the old one is notified")
    func changeOfAddress() async throws {
        try await withMail { fixture in
            let ada = try await fixture.verified("ada", "ada@example.org")
            let change = json(["email": "ada@example.net"])
            #expect(try await fixture.auth.post("/auth/email", change, token: ada.jwt).status == 200)
            #expect(try await fixture.auth.me(ada.jwt).json["email"].string == "ada@example.org")

            try await fixture.verify("ada@example.net")

            #expect(try await fixture.auth.me(ada.jwt).json["email"].string == "ada@example.net")
            #expect(try await fixture.auth.login("ada@example.org").status == 401)
            #expect(try await fixture.auth.login("ada@example.net").status == 200)
            #expect(try await fixture.mails(to: "ada@example.org", count: 2).last?.subject.contains("changed") == true)
        }
    }

    /// The client chooses its name and user agent, so the mail does not repeat them.
    @Test("A mail reports a sign-in on a new device, without the text that the client sent")
    func newDevice() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            _ = try await fixture.auth.login("ada", device: "phone", userAgent: "https://evil.example")
            _ = try await fixture.auth.login("ada", device: "phone")
            // Bo gets no mail about sign-ins, because an unverified address may belong to another person.
            try await fixture.register("bo", "bo@example.org")
            for device in ["phone", "tablet"] { _ = try await fixture.auth.login("bo", device: device) }
            try await fixture.drainOutbox()

            let mails = try await fixture.mails(to: "ada@example.org", count: 2)
            #expect(mails.map(\.subject).dropFirst() == ["New sign-in to Roost"])
            #expect(mails.last?.text.contains("evil") == false)
            #expect(try await fixture.mails(to: "bo@example.org").count == 1)
        }
    }

    @Test("Changes of address and password are recorded as security events")
    func auditEvents() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            _ = try await fixture.requestReset("ada@example.org")
            let token = try await fixture.token(to: "ada@example.org", count: 2)
            #expect(try await fixture.reset(token, to: "a new horse for a new day").status == 200)
            let login = try await fixture.auth.login("ada", password: "a new horse for a new day")
            let ada = try fixture.auth.person(login, "ada")

            let kinds = try await fixture.auth.events(ada.jwt).map(\.kind)

            #expect(kinds.contains("email.changed"))
            #expect(kinds.contains("password.reset"))
        }
    }

    /// The response is the same as for any other address.
    @Test("Registering a taken address informs its owner and not the sender")
    func takenAddress() async throws {
        try await withMail { fixture in
            _ = try await fixture.verified("ada", "ada@example.org")
            let taken = try await fixture.register("mallory", "ADA@example.org")
            let free = try await fixture.register("bo", "bo@example.org")
            #expect(taken.status == 200)
            #expect(free.status == 200)
            #expect(Set(taken.headers.map(\.name)) == Set(free.headers.map(\.name)))

            let mail = try #require(try await fixture.mails(to: "ada@example.org", count: 2).last)
            #expect(mail.links.isEmpty)
            #expect(mail.text.contains("ada"))
            #expect(!mail.text.contains("mallory"))
            #expect(try await fixture.auth.login("ada@example.org").status == 200)
        }
    }

    @Test("Of two accounts with one address, the first to verify gets it")
    func sharedAddress() async throws {
        try await withMail { fixture in
            for name in ["ada", "eve"] { try await fixture.register(name, "both@example.org") }
            let mails = try await fixture.mails(to: "both@example.org", count: 2)
            let tokens = mails.compactMap { $0.links.first?.components(separatedBy: "#token=").last }
            #expect(tokens.count == 2)
            let answers = try await tokens.asyncMap { token in
                try await fixture.auth.post("/auth/email/verify", json(["token": .string(token)]))
            }
            #expect(answers.map(\.status) == [200, 409])
            #expect(answers.last?.problem?.code == "email_taken")
        }
    }

    @Test("Changing the address needs a recent sign-in or the password")
    func reauthentication() async throws {
        try await withMail { fixture in
            let ada = try await fixture.auth.signUp("ada")
            fixture.clock.advance(seconds: 301)
            func change(_ password: String?) async throws -> TestHTTPResponse {
                var draft: [String: JSONValue] = ["email": "ada@example.org"]
                draft["password"] = password.map { .string($0) }
                return try await fixture.auth.post("/auth/email", json(draft), token: ada.jwt)
            }
            #expect(try await change(nil).problem?.code == "recent_login_required")
            #expect(try await change("wrong password").problem?.code == "wrong_password")
            #expect(try await change(Auth.password).status == 200)
        }
    }

    @Test("Mails are limited by address and by account")
    func addressLimit() async throws {
        try await withMail { fixture in
            let ada = try await fixture.auth.signUp("ada")
            for _ in 0..<EmailOutbox.perAddress + 2 {
                let answer = try await fixture.auth.post(
                    "/auth/email",
                    json(["email": "x@example.org"]),
                    token: ada.jwt
                )
                #expect(answer.status == 200)
            }
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails(to: "x@example.org").count == EmailOutbox.perAddress)
            for number in 0..<EmailOutbox.perAccount {
                _ = try await fixture.auth.post(
                    "/auth/email",
                    json(["email": .string("\(number)@example.org")]),
                    token: ada.jwt
                )
            }
            let refused = try await fixture.auth.post("/auth/email", json(["email": "y@example.org"]), token: ada.jwt)
            #expect(refused.status == 429)
            #expect(refused.headers[.retryAfter] != nil)
        }
    }

    @Test("One client causes ten mails an hour to unverified addresses")
    func mailsToStrangers() async throws {
        try await withMail { fixture in
            func register(_ number: Int, from address: String) async throws -> TestHTTPResponse {
                var headers = HTTPFields()
                if let name = HTTPField.Name("X-Forwarded-For") { headers[name] = address }
                let body: [String: JSONValue] = [
                    "email": .string("\(number)@example.org"), "password": .string(Auth.password),
                ]
                return try await fixture.auth.post("/auth/register", json(body), headers: headers)
            }
            for number in 0..<EmailOutbox.strangersPerCaller + 2 {
                #expect(try await register(number, from: "2001:db8::\(number)").status == 200)
            }
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails().count == EmailOutbox.strangersPerCaller)

            for number in 100..<102 { _ = try await register(number, from: "203.0.113.7") }
            // A private address may be a proxy with many clients behind it.
            for number in 200..<212 { _ = try await register(number, from: "192.168.0.1") }
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails().count == EmailOutbox.strangersPerCaller + 14)

            fixture.clock.advance(seconds: 3_600)
            _ = try await register(300, from: "2001:db8::1")
            #expect(try await fixture.mails(to: "300@example.org").count == 1)
        }
    }

    @Test("A verification mail has the account's name, but not as a link")
    func namedAccount() async throws {
        try await withMail { fixture in
            try await fixture.register("win.example:8080", "ada@example.org")
            let text = try #require(try await fixture.mails(to: "ada@example.org").first).text
            #expect(text.contains("The account \"win·example·8080\" at Roost asks for it."))
        }
    }

    @Test("Without a mail server, the routes that send mails return 422")
    func notConfigured() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let change = try await auth.post("/auth/email", json(["email": "ada@example.org"]), token: ada.jwt)
            #expect(change.status == 422)
            #expect(change.problem?.code == "email_not_configured")
            let forgotten = try await auth.post("/auth/password/forgot", json(["email": "ada@example.org"]))
            #expect(forgotten.status == 422)
            #expect(forgotten.problem?.code == "email_not_configured")
            let again = try await auth.post("/auth/email/resend", json(["email": "ada@example.org"]))
            #expect(again.status == 422)
            #expect(again.problem?.code == "email_not_configured")
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
