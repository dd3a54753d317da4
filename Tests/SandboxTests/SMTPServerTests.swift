import ChildProcesses
import Foundation
import NIOCore
import NIOHTTP1
import SMTP
import SandboxServer
import Testing
import Wire

@Suite("SMTP server of the sandbox", .timeLimit(.minutes(5))) struct SMTPServerTests {
    private struct EmailPage: Decodable {
        var mails: [ReceivedEmail]
    }

    private func client(_ fixture: SandboxFixture) throws -> SMTPClient {
        var configuration = try SMTPConfiguration(url: fixture.credentials.mail.url)
        configuration.trustedCA = fixture.credentials.authority
        configuration.replyTimeout = .seconds(30)
        configuration.contentTimeout = .seconds(30)
        return try SMTPClient(configuration)
    }

    private func message(to receiver: String = "bo@example.net", id: String = "one") throws -> MailMessage {
        MailMessage(
            from: try MailAddress("no-reply@example.org", name: "Ünser Röst"),
            to: try MailAddress(receiver),
            subject: "Grüße 🐔 und ein Betreff, der für eine Zeile der Kopfzeilen viel zu lang ist",
            text: "Grüße\n.\nhttp://127.0.0.1/x#token=\(String(repeating: "a", count: 80))\n",
            messageID: "\(id)@example.org",
            date: Date()
        )
    }

    @Test("An email is decoded and listed by its receiver")
    func email() async throws {
        try await withSandbox { fixture in
            try await client(fixture).send(message())

            let mail = try #require(fixture.sandbox.mailbox.mails(to: "bo@example.net").first)
            #expect(mail.subject == "Grüße 🐔 und ein Betreff, der für eine Zeile der Kopfzeilen viel zu lang ist")
            #expect(mail.text.hasPrefix("Grüße\r\n.\r\nhttp"))
            #expect(mail.links == ["http://127.0.0.1/x#token=\(String(repeating: "a", count: 80))"])
            #expect(mail.sender == "no-reply@example.org")
            #expect(mail.messageId == "one@example.org")

            for (receiver, numbers) in [("bo", [1]), ("cy", [])] {
                let shown = try await fixture.send(
                    .GET,
                    "\(fixture.sandbox.url)/sandbox/mails?to=\(receiver)@example.net"
                )
                #expect(try shown.decode(EmailPage.self).mails.map(\.number) == numbers)
            }
            let page = try await fixture.send(.GET, "\(fixture.sandbox.url)/mail")
            #expect(page.status == 200)
            #expect(page.headers.first(name: "content-type") == "text/html; charset=utf-8")

            #expect(try await fixture.send(.DELETE, "\(fixture.sandbox.url)/sandbox/mails").status == 204)
            #expect(fixture.sandbox.mailbox.mails().isEmpty)
        }
    }

    @Test("Copies of a message ID are counted")
    func copies() async throws {
        try await withSandbox { fixture in
            let client = try client(fixture)
            for id in ["one", "one", "two"] { try await client.send(message(id: id)) }
            #expect(fixture.sandbox.mailbox.mails().map(\.copies) == [1, 2, 1])
        }
    }

    @Test("A scripted failure rejects the receiver or leaves the outcome unknown")
    func scriptedFailures() async throws {
        try await withSandbox { fixture in
            let client = try client(fixture)
            for rule in [
                #"{"service": "smtp", "token": "bo@example.net", "status": 451, "reason": "4.7.1 later", "times": 1}"#,
                #"{"service": "smtp", "token": "cy@example.net", "behaviour": "reset", "accepts": true, "times": 1}"#,
            ] {
                #expect(try await fixture.control("/sandbox/script", rule).status == 201)
            }
            func failure(_ receiver: String) async throws -> SMTPError? {
                do {
                    try await client.send(message(to: receiver))
                    return nil
                } catch let error as SMTPError {
                    return error
                }
            }
            guard case .refused(let reply, at: .recipient) = try await failure("bo@example.net") else {
                Issue.record("the email was accepted")
                return
            }
            #expect(reply.code == 451)
            #expect(try await failure("cy@example.net") == .unknownOutcome)
            #expect(try await failure("bo@example.net") == nil)
            #expect(fixture.sandbox.mailbox.mails().map(\.receiver) == ["cy@example.net", "bo@example.net"])
        }
    }

    /// The script also sends invalid input, which the server must reject.
    @Test("Python's smtplib can send email")
    func smtplib() async throws {
        try await withSandbox { fixture in
            try await withFolder { folder in
                try fixture.credentials.authority.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
                let url = try #require(URLComponents(string: fixture.credentials.mail.url))
                let (status, output) = try await Program.run(
                    "python3",
                    [
                        "scripts/mail-client.py", url.host ?? "", "\(url.port ?? 0)", url.user ?? "",
                        url.password ?? "", "\(folder)/ca.pem",
                    ]
                )
                #expect(status.isSuccess, "\(output)")
                #expect(fixture.sandbox.mailbox.mails().map(\.copies) == [1, 2])
            }
        }
    }
}
