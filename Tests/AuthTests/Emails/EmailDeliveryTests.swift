import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// How mails get out, and what becomes of those that do not.
@Suite(.timeLimit(.minutes(5))) struct EmailDeliveryTests {
    /// How often the mail that waits was tried; nil where none does.
    private func attempts(_ fixture: EmailFixture) async throws -> Int? {
        try await fixture.auth.service.database.pool.first("SELECT attempts FROM emails") { try $0.int("attempts") }
    }

    /// Whether the mail that waits was tried, and is no longer anybody's to try.
    private func isPutOff(_ fixture: EmailFixture) async throws -> Bool {
        let soon = fixture.clock.now.addingTimeInterval(EmailSender.lease - 1)
        return try await fixture.auth.service.database.pool.first(
            "SELECT email_id FROM emails WHERE attempts > 0 AND due_at < \(soon)"
        ) { _ in true } ?? false
    }

    @Test func retry() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(
                ScriptRule(service: .smtp, token: "ada@example.org", status: 451, reason: "4.7.1 later", times: 1)
            )
            try await fixture.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            // Whoever comes after it is not held up.
            try await fixture.register("bo", "bo@example.org")
            _ = try await fixture.mails(to: "bo@example.org")
            #expect(fixture.sandbox.mailbox.mails(to: "ada@example.org").isEmpty)

            fixture.clock.advance(seconds: 16)
            try await fixture.verify("ada@example.org")
            try await fixture.drainOutbox()
        }
    }

    @Test func permanentFailure() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "nobody@example.org")
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test func lostResponse() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(
                ScriptRule(service: .smtp, token: "ada@example.org", behaviour: .reset, times: 1, accepts: true)
            )
            try await fixture.register("ada", "ada@example.org")
            _ = try await fixture.mails(to: "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            fixture.clock.advance(seconds: 60)

            let mails = try await fixture.mails(to: "ada@example.org", count: 2)
            #expect(mails.map(\.copies) == [1, 2])
            // Either link does.
            let token = try #require(mails.first?.links.first?.components(separatedBy: "#token=").last)
            #expect(try await fixture.auth.post("/auth/email/verify", json(["token": .string(token)])).status == 200)
        }
    }

    @Test func expiredEmail() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .smtp, status: 451, reason: "4.3.2 full"))
            try await fixture.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            fixture.sandbox.script.clear()
            fixture.clock.advance(seconds: EmailSender.maximumAge + 1)
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test func deletedAccount() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .smtp, status: 451, reason: "4.3.2 full"))
            try await fixture.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            try await fixture.auth.service.database.pool.run("DELETE FROM accounts")
            #expect(try await attempts(fixture) == nil)
        }
    }

    /// Two instances over one database: each mail is sent by one of them.
    @Test func twoInstances() async throws {
        try await Sandbox.run(.small()) { sandbox in
            let credentials = try sandbox.credentials()
            let settings = [
                "SMTP_URL": credentials.mail.url, "SMTP_FROM": credentials.mail.from,
                "TRUSTED_CA": credentials.authority,
            ]
            try await withTwoAuths(settings: settings) { first, second in
                for number in 0..<12 {
                    let auth = number.isMultiple(of: 2) ? first : second
                    try await auth.register("user\(number)", email: "user\(number)@example.org")
                }
                try await eventually(within: .seconds(60), "all sent") { sandbox.mailbox.mails().count >= 12 }
                // What is sent twice has come twice by then.
                try await first.drainEmailOutbox()
                #expect(sandbox.mailbox.mails().map(\.copies).max() == 1)
                #expect(Set(sandbox.mailbox.mails().map(\.receiver)).count == 12)
            }
        }
    }
}
