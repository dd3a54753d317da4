import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Auth beside a mail server that keeps all mails, and the actions of the receivers.
struct EmailFixture: Sendable {
    let auth: Auth
    let sandbox: Sandbox
    let clock: TestClock

    /// The mails to an address, once at least `count` have arrived.
    func mails(to receiver: String, count: Int = 1) async throws -> [ReceivedEmail] {
        try await eventually(within: .seconds(30), "written to \(receiver)") {
            sandbox.mailbox.mails(to: receiver).count >= count
        }
        return sandbox.mailbox.mails(to: receiver)
    }

    /// The token in the link of the newest mail to an address.
    func token(to receiver: String, count: Int = 1) async throws -> String {
        let mail = try #require(try await mails(to: receiver, count: count).last)
        let link = try #require(mail.links.first)
        return try #require(URLComponents(string: link)?.fragment).replacing("token=", with: "")
    }

    /// Waits until the outbox is empty.
    func drainOutbox() async throws { try await auth.drainEmailOutbox() }

    /// Makes an account whose address is not verified.
    @discardableResult
    func register(_ username: String, _ email: String) async throws -> TestHTTPResponse {
        try await auth.register(username, email: email)
    }

    /// Makes an account whose address is verified, and signs it in.
    func verified(_ username: String, _ email: String) async throws -> Auth.Person {
        try await register(username, email)
        try await verify(email)
        return try await auth.signIn(username)
    }

    func verify(_ email: String, count: Int = 1) async throws {
        let token = try await token(to: email, count: count)
        let answer = try await auth.post("/auth/email/verify", json(["token": .string(token)]))
        try #require(answer.status == 200, "\(answer.text)")
    }

    func requestReset(_ email: String, address: String? = nil) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        if let address, let name = HTTPField.Name("X-Forwarded-For") { headers[name] = address }
        return try await auth.post("/auth/password/forgot", json(["email": .string(email)]), headers: headers)
    }

    /// Requests another verification mail.
    func resend(_ email: String, from address: String? = nil) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        if let address, let name = HTTPField.Name("X-Forwarded-For") { headers[name] = address }
        return try await auth.post("/auth/email/resend", json(["email": .string(email)]), headers: headers)
    }

    func reset(_ token: String, to password: String) async throws -> TestHTTPResponse {
        try await auth.post(
            "/auth/password/reset",
            json(["token": .string(token), "newPassword": .string(password)])
        )
    }
}

extension Auth {
    /// Makes an account with an address.
    @discardableResult
    func register(_ username: String, email: String) async throws -> TestHTTPResponse {
        let answer = try await post(
            "/auth/register",
            json(["username": .string(username), "password": .string(Auth.password), "email": .string(email)])
        )
        try #require(answer.status == 200, "\(answer.text)")
        return answer
    }

    /// Waits until no mail is waiting to be sent.
    func drainEmailOutbox() async throws {
        try await eventually(within: .seconds(30), "all written") {
            try await service.database.pool.one("SELECT count(*) AS waiting FROM emails") {
                try $0.int64("waiting")
            } == 0
        }
    }
}

/// Starts auth and a mail server, and stops them at the end of the scope.
func withMail(
    settings: [String: String] = [:],
    _ body: @Sendable (EmailFixture) async throws -> Void
) async throws {
    try await Sandbox.run(.small()) { sandbox in
        let credentials = try sandbox.credentials()
        let mail = [
            "SMTP_URL": credentials.mail.url, "SMTP_FROM": credentials.mail.from, "TRUSTED_CA": credentials.authority,
        ]
        let clock = TestClock()
        try await withAuth(settings: mail.merging(settings) { $1 }, clock: clock) { auth in
            try await body(EmailFixture(auth: auth, sandbox: sandbox, clock: clock))
        }
    }
}
