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
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    /// How often the mail that waits was tried; nil where none does.
    private func attempts(_ scene: MailScene) async throws -> Int? {
        try await scene.auth.service.database.pool.first("SELECT attempts FROM mails") { try $0.int("attempts") }
    }

    /// Whether the mail that waits was tried, and is no longer anybody's to try.
    private func isPutOff(_ scene: MailScene) async throws -> Bool {
        let soon = scene.clock.now.addingTimeInterval(MailDelivery.lease - 1)
        return try await scene.auth.service.database.pool.first(
            "SELECT mail_id FROM mails WHERE attempts > 0 AND due_at < \(soon)"
        ) { _ in true } ?? false
    }

    @Test func whatIsNotTakenTodayIsTriedAgain() async throws {
        try await withMail { scene in
            try scene.sandbox.script.add(
                ScriptRule(service: .smtp, token: "ada@example.org", status: 451, reason: "4.7.1 later", times: 1)
            )
            try await scene.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(scene) }
            // Whoever comes after it is not held up.
            try await scene.register("bo", "bo@example.org")
            _ = try await scene.mails(to: "bo@example.org")
            #expect(scene.sandbox.mailbox.mails(to: "ada@example.org").isEmpty)

            scene.clock.advance(seconds: 16)
            try await scene.verify("ada@example.org")
            try await scene.settle()
        }
    }

    @Test func anAddressThatIsNobodysIsGivenUp() async throws {
        try await withMail { scene in
            try await scene.register("ada", "nobody@example.org")
            try await scene.settle()
            #expect(scene.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test func anAnswerThatIsLostCostsASecondMailAndNoAccess() async throws {
        try await withMail { scene in
            try scene.sandbox.script.add(
                ScriptRule(service: .smtp, token: "ada@example.org", behaviour: .reset, times: 1, accepts: true)
            )
            try await scene.register("ada", "ada@example.org")
            _ = try await scene.mails(to: "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(scene) }
            scene.clock.advance(seconds: 60)

            let mails = try await scene.mails(to: "ada@example.org", count: 2)
            #expect(mails.map(\.copies) == [1, 2])
            // Either link does.
            let token = try #require(mails.first?.links.first?.components(separatedBy: "#token=").last)
            #expect(try await scene.auth.post("/auth/email/verify", json(["token": .string(token)])).status == 200)
        }
    }

    @Test func aMailWhoseReasonIsOldIsNotSent() async throws {
        try await withMail { scene in
            try scene.sandbox.script.add(ScriptRule(service: .smtp, status: 451, reason: "4.3.2 full"))
            try await scene.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(scene) }
            scene.sandbox.script.clear()
            scene.clock.advance(seconds: MailDelivery.patience + 1)
            try await scene.settle()
            #expect(scene.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test func mailsGoWithTheirAccount() async throws {
        try await withMail { scene in
            try scene.sandbox.script.add(ScriptRule(service: .smtp, status: 451, reason: "4.3.2 full"))
            try await scene.register("ada", "ada@example.org")
            try await eventually(within: .seconds(30), "put off") { try await isPutOff(scene) }
            try await scene.auth.service.database.pool.run("DELETE FROM accounts")
            #expect(try await attempts(scene) == nil)
        }
    }

    /// Two instances over one database: each mail is sent by one of them.
    @Test func severalInstancesShareTheMails() async throws {
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
                try await first.writeMails()
                #expect(sandbox.mailbox.mails().map(\.copies).max() == 1)
                #expect(Set(sandbox.mailbox.mails().map(\.receiver)).count == 12)
            }
        }
    }
}
