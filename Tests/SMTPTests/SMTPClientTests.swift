import Foundation
import NIOCore
import SMTP
import Testing

/// The client with an independent server: aiosmtpd.
@Suite("SMTP client", .timeLimit(.minutes(10))) struct SMTPClientTests {
    @Test(
        "An email arrives encrypted, authenticated and with its content unchanged",
        arguments: [("starttls", "smtp"), ("implicit", "smtps")]
    )
    func delivery(mode: String, scheme: String) async throws {
        try await MailServer.run(mode) { server in
            let text = "Grüße von 🐔\n.\n..\nA line of \(String(repeating: "very ", count: 300))many words\n"
            let client = try server.client("\(scheme)://ana:open%20sesame@localhost:\(server.port)")

            try await client.send(
                MailServer.message(subject: "Grüße 🐔, \"ganz\" herzlich", text: text, html: "<p>Gr\u{FC}\u{DF}e</p>\n")
            )

            let mail = try await server.mail()
            #expect(mail.isEncrypted)
            #expect(mail.isSignedIn)
            #expect(mail.sender == "no-reply@example.org")
            #expect(mail.receivers == ["bo@example.net"])
            #expect(mail.subject == "Grüße 🐔, \"ganz\" herzlich")
            #expect(mail.from == "Roost, the \"social\" one")
            #expect(mail.to == "bo@example.net")
            #expect(mail.text.replacing("\r\n", with: "\n").trimmed == text.trimmed)
            #expect(mail.html?.contains("Grüße") == true)
            #expect(mail.messageID == "<one@example.org>")
            #expect(mail.date == "2026-11-22T09:05:00+00:00")
            #expect(mail.headers.contains("Auto-Submitted"))
            #expect(mail.defects.isEmpty)
            #expect(mail.isASCII)
            #expect(mail.longest <= 78)
        }
    }

    @Test("An email reaches a non-ASCII address on a server with SMTPUTF8")
    func internationalAddress() async throws {
        try await MailServer.run("clear") { server in
            let client = try server.client("smtp://127.0.0.1:\(server.port)?tls=none")
            try await client.send(MailServer.message(to: "jörg@bücher.example"))
            #expect(try await server.mail().receivers == ["jörg@bücher.example"])
        }
    }

    @Test("A rejected recipient is reported as a permanent or a transient error")
    func rejectedRecipient() async throws {
        try await MailServer.run("clear") { server in
            let client = try server.client("smtp://127.0.0.1:\(server.port)?tls=none")
            for (receiver, code, isPermanent) in [("nobody", 550, true), ("later", 451, false)] {
                let error = await failure { try await client.send(MailServer.message(to: "\(receiver)@example.net")) }
                guard case .refused(let reply, at: .recipient) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(reply.code == code)
                #expect(error?.isPermanent == isPermanent)
            }
            #expect(try server.mails.isEmpty)
        }
    }

    @Test("A wrong password is a transient error, since an operator can correct it")
    func wrongPassword() async throws {
        try await MailServer.run("starttls") { server in
            let client = try server.client("smtp://ana:wrong@localhost:\(server.port)")
            let error = await failure { try await client.send(MailServer.message()) }
            guard case .refused(_, at: .authentication) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(error?.isPermanent == false)
        }
    }

    @Test(
        "Nothing is sent to a server with an untrusted certificate",
        arguments: [("starttls", "smtp"), ("implicit", "smtps")]
    )
    func untrustedCertificate(mode: String, scheme: String) async throws {
        try await MailServer.run(mode) { server in
            let url = "\(scheme)://ana:open%20sesame@localhost:\(server.port)"
            let client = try server.client(url, trusting: false)
            let error = await failure { try await client.send(MailServer.message()) }
            #expect(error == .insecure("the TLS handshake failed"))
            #expect(try server.mails.isEmpty)
        }
    }
}

/// The client with servers that break the protocol or speak another one.
@Suite("SMTP client with faulty servers", .timeLimit(.minutes(2))) struct SMTPFaultTests {
    typealias Exchange = ScriptedServer.Exchange

    private func failure(
        of exchanges: [Exchange],
        greeting: String = "220 here\r\n",
        url: String = "smtp://127.0.0.1",
        to receiver: String = "bo@example.net",
        replyTimeout: TimeAmount = .seconds(30),
        contentTimeout: TimeAmount = .seconds(30)
    ) async throws -> (error: SMTPError?, received: [String]) {
        var result: (SMTPError?, [String]) = (nil, [])
        try await ScriptedServer.run(greeting: greeting, exchanges) { server, port in
            var configuration = try SMTPConfiguration(url: url)
            configuration.port = port
            configuration.replyTimeout = replyTimeout
            configuration.contentTimeout = contentTimeout
            let client = try SMTPClient(configuration)
            let message = try MailServer.message(to: receiver)
            result.0 = await SMTPTests.failure { try await client.send(message) }
            result.1 = server.received
        }
        return result
    }

    private static let clear = "smtp://127.0.0.1?tls=none"
    private static let acceptingExchanges = [
        Exchange("EHLO", "250-here\r\n250 SIZE 100000\r\n"), Exchange("MAIL", "250 ok\r\n"),
        Exchange("RCPT", "250 ok\r\n"),
        Exchange("DATA", "354 go on\r\n"),
    ]

    /// An attacker on the path may have removed the offer.
    @Test("A server that does not offer STARTTLS is rejected before anything is sent")
    func missingSTARTTLS() async throws {
        let (error, received) = try await failure(of: [Exchange("EHLO", "250 here\r\n")])
        #expect(error == .insecure("the server does not offer STARTTLS"))
        #expect(received.allSatisfy { $0.hasPrefix("EHLO") || $0 == "QUIT" })
    }

    /// CVE-2011-0411: plain text behind the 220 must not count as received over TLS.
    @Test("Plain text after the reply to STARTTLS ends the session before the login")
    func injectionBeforeTLS() async throws {
        let injected = "220 go on\r\n250-injected\r\n250 AUTH PLAIN\r\n"
        let (error, received) = try await failure(
            of: [Exchange("EHLO", "250-here\r\n250 STARTTLS\r\n"), Exchange("STARTTLS", injected)],
            url: "smtp://ana:secret@127.0.0.1"
        )
        guard case .insecure = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!received.contains { $0.hasPrefix("AUTH") })
    }

    @Test(
        "A greeting that is not SMTP is reported",
        arguments: ["HTTP/1.1 400 Bad Request\r\n", "999 what\r\n", "2\r\n", "220-one\r\n221 two\r\n", "220+x\r\n"]
    )
    func notAMailServer(_ greeting: String) async throws {
        let (error, _) = try await failure(of: [], greeting: greeting, url: Self.clear)
        #expect(error == .notSMTP)
    }

    @Test("A reply line without an end is rejected")
    func endlessLine() async throws {
        let endless = "220 " + String(repeating: "x", count: 5_000)
        let (error, _) = try await failure(of: [], greeting: endless, url: Self.clear)
        #expect(error == .notSMTP)
    }

    @Test("A server that does not reply in time is unreachable")
    func timeout() async throws {
        let (error, _) = try await failure(of: [], url: Self.clear, replyTimeout: .milliseconds(500))
        #expect(error == .unreachable("the server did not answer in time"))
    }

    @Test("A server that closes or shuts down is a transient error", arguments: ["", "421 going down\r\n"])
    func serverShutsDown(_ farewell: String) async throws {
        let (error, _) = try await failure(
            of: [Exchange("EHLO", "250 here\r\n"), Exchange("MAIL", farewell)],
            url: Self.clear
        )
        #expect(error?.isPermanent == false)
    }

    @Test("A missing reply after the message leaves the outcome unknown")
    func unknownDeliveryOutcome() async throws {
        for end in [[], [Exchange(".", "")]] {
            // The timeout must leave the server enough time to receive the whole message.
            let (error, received) = try await failure(
                of: Self.acceptingExchanges + end,
                url: Self.clear,
                contentTimeout: .seconds(2)
            )
            #expect(error == .unknownOutcome)
            #expect(received.contains("."))
        }
    }

    @Test("An email larger than the server's limit is not sent")
    func sizeLimit() async throws {
        let (error, received) = try await failure(
            of: [Exchange("EHLO", "250-here\r\n250 SIZE 100\r\n")],
            url: Self.clear
        )
        #expect(error == .tooLarge(limit: 100))
        #expect(!received.contains { $0.hasPrefix("MAIL") })
    }

    @Test("A non-ASCII address is not sent to a server without SMTPUTF8")
    func unsupportedAddress() async throws {
        let (error, received) = try await failure(of: Self.acceptingExchanges, url: Self.clear, to: "jörg@example.net")
        #expect(error == .unsupportedAddress)
        #expect(!received.contains { $0.hasPrefix("MAIL") })
    }

    @Test("A closed port is unreachable")
    func noServer() async throws {
        var configuration = SMTPConfiguration(host: "127.0.0.1", port: 1, encryption: .none)
        configuration.connectTimeout = .seconds(2)
        let client = try SMTPClient(configuration)
        let error = await SMTPTests.failure { try await client.send(MailServer.message()) }
        guard case .unreachable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}

func failure(_ body: () async throws -> Void) async -> SMTPError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? SMTPError
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
