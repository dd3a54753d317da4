import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Delivery of mails, and mails that cannot be delivered.
@Suite("Mail delivery", .timeLimit(.minutes(5))) struct EmailDeliveryTests {
    /// The number of attempts of the waiting mail; nil if none waits.
    private func attempts(_ fixture: EmailFixture) async throws -> Int? {
        try await fixture.auth.service.database.pool.first("SELECT attempts FROM emails") { try $0.int("attempts") }
    }

    /// Whether the waiting mail has failed once and its lease has been released.
    private func isPutOff(_ fixture: EmailFixture) async throws -> Bool {
        let soon = fixture.clock.now.addingTimeInterval(EmailSender.lease - 1)
        return try await fixture.auth.service.database.pool.first(
            "SELECT email_id FROM emails WHERE attempts > 0 AND due_at < \(soon)"
        ) { _ in true } ?? false
    }

    @Test("A mail that failed temporarily is sent again and delays no other")
    func retry() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(
                ScriptRule(service: .smtp, token: "ada@example.org", status: 451, reason: "4.7.1 later", times: 1)
            )
            try await fixture.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            // A later mail is not delayed.
            try await fixture.register("bo", "bo@example.org")
            _ = try await fixture.mails(to: "bo@example.org")
            #expect(fixture.sandbox.mailbox.mails(to: "ada@example.org").isEmpty)

            fixture.clock.advance(seconds: 16)
            try await fixture.verify("ada@example.org")
            try await fixture.drainOutbox()
        }
    }

    @Test("A mail that the server refuses permanently is dropped")
    func permanentFailure() async throws {
        try await withMail { fixture in
            try await fixture.register("ada", "nobody@example.org")
            try await fixture.drainOutbox()
            #expect(fixture.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test("A mail whose response was lost is sent again, and both links work")
    func lostResponse() async throws {
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
            // Either link works.
            let token = try #require(mails.first?.links.first?.components(separatedBy: "#token=").last)
            #expect(try await fixture.auth.post("/auth/email/verify", json(["token": .string(token)])).status == 200)
        }
    }

    @Test("A mail that is too old is dropped")
    func expiredEmail() async throws {
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

    @Test("A deleted account's mail is not sent")
    func deletedAccount() async throws {
        try await withMail { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .smtp, status: 451, reason: "4.3.2 full"))
            try await fixture.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(fixture) }
            try await fixture.auth.service.database.pool.run("DELETE FROM accounts")
            #expect(try await attempts(fixture) == nil)
        }
    }

    @Test("Two instances send each mail once")
    func twoInstances() async throws {
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
                // A mail that is sent twice has arrived twice by the time the outbox is empty.
                try await first.drainEmailOutbox()
                #expect(sandbox.mailbox.mails().map(\.copies).max() == 1)
                #expect(Set(sandbox.mailbox.mails().map(\.receiver)).count == 12)
            }
        }
    }
}
