import Foundation
import Testing

@testable import SMTP

@Suite("Email addresses") struct MailAddressTests {
    @Test(
        "An address is kept as it is written",
        arguments: [
            "ana@example.org", "ana.b+c@mail.example.org", "o'neil@example.org", "\"a@b\"@example.org",
            "\"a \\\" b\"@x.org",
            "jörg@example.org", "ana@bücher.example", "a@localhost",
        ]
    )
    func validAddresses(_ text: String) throws {
        #expect(try MailAddress(text).text == text)
    }

    @Test(
        "A malformed address, or one that holds an SMTP command, is rejected",
        arguments: [
            "", "ana", "@example.org", "ana@", "a..b@example.org", ".a@example.org", "a b@example.org",
            "a>b@example.org",
            "a<b@example.org", "a\r\nRCPT TO:<x@y>@example.org", "a@example.org\r\nDATA", "a@-example.org",
            "a@example..org",
            "a@[127.0.0.1]", "a@exa mple.org", "\"a\"b\"@example.org", "\"a\\\"@example.org", "a\u{202E}b@example.org",
            "a@example.org>", String(repeating: "a", count: 65) + "@example.org",
            "a@" + Array(repeating: "abcdefghi", count: 26).joined(separator: "."),
        ]
    )
    func malformedAddresses(_ text: String) {
        #expect(throws: MailAddress.Malformed.self) { try MailAddress(text) }
    }

    @Test("A display name with a line break is rejected, and an empty one is dropped")
    func displayName() throws {
        #expect(throws: MailAddress.Malformed.self) {
            try MailAddress("ana@example.org", name: "Ana\r\nBcc: all@example.org")
        }
        #expect(try MailAddress("ana@example.org", name: "").name == nil)
    }
}

@Suite("Encoding of email messages") struct EncodingTests {
    /// The rules of RFC 2045, section 6.7.
    @Test("A body is encoded as quoted-printable with CRLF line ends")
    func quotedPrintable() {
        let text = "caf\u{E9} = 2,50 €\nends with a space \n\n.dot"
        let encoded = String(decoding: QuotedPrintable.encode(text), as: UTF8.self)
        #expect(encoded == "caf=C3=A9 =3D 2,50 =E2=82=AC\r\nends with a space=20\r\n\r\n.dot\r\n")
    }

    @Test("No quoted-printable line is longer than 76 bytes", arguments: ["x", "é", "=", " "])
    func lineLength(_ text: String) throws {
        let encoded = QuotedPrintable.encode(String(repeating: text, count: 500))
        let lines = String(decoding: encoded, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        #expect(lines.count > 5)
        // No escape is split over two lines.
        #expect(lines.dropLast(2).allSatisfy { $0.hasSuffix("=") && !$0.dropLast().hasSuffix("=") })
    }

    @Test("A non-ASCII header becomes encoded words of at most 75 bytes that decode separately")
    func encodedWords() throws {
        let subject = String(repeating: "Grüße 🐔 ", count: 12)
        let words = EncodedWord.encode(subject).split(separator: "\r\n ")
        #expect(words.count > 1)
        var decoded = ""
        for word in words {
            #expect(word.utf8.count <= 75)
            let base64 = word.dropFirst("=?utf-8?B?".count).dropLast("?=".count)
            let bytes = try #require(Data(base64Encoded: String(base64)))
            decoded += try #require(String(bytes: bytes, encoding: .utf8))
        }
        #expect(decoded == subject)
    }

    @Test("An ASCII header is not encoded, unless it looks like an encoded word")
    func plainHeaders() {
        #expect(EncodedWord.encode("Your password, again") == "Your password, again")
        #expect(EncodedWord.encode("Ana B", isPhrase: true) == "Ana B")
        #expect(EncodedWord.encode("B, Ana \"A\"", isPhrase: true) == #""B, Ana \"A\"""#)
        // Unencoded, a reader would decode it to other text.
        #expect(EncodedWord.encode("=?utf-8?B?SGk=?=").hasPrefix("=?utf-8?B?PT"))
    }

    @Test("A dot at the start of a line is doubled, and the message ends with a single dot")
    func dotStuffing() {
        func dotStuffed(_ text: String) -> String {
            String(decoding: SMTPConnection.dotStuffed(Array(text.utf8)), as: UTF8.self)
        }
        #expect(dotStuffed(".\r\na.b\r\n..\r\n") == "..\r\na.b\r\n...\r\n.\r\n")
        #expect(dotStuffed("no end") == "no end\r\n.\r\n")
    }
}

@Suite("SMTP URLs") struct SMTPConfigurationTests {
    @Test("A URL gives the host, port, encryption and login")
    func validURL() throws {
        let submission = try SMTPConfiguration(url: "smtp://ana%40x:p%3A%2F@mail.example.org")
        #expect(submission.host == "mail.example.org")
        #expect(submission.port == 587)
        #expect(submission.encryption == .startTLS)
        #expect(submission.login?.username == "ana@x")
        #expect(submission.login?.password == "p:/")
        let implicit = try SMTPConfiguration(url: "smtps://mail.example.org/")
        #expect(implicit.port == 465)
        #expect(implicit.encryption == .implicit)
        #expect(implicit.login == nil)
        let local = try SMTPConfiguration(url: "smtp://[::1]:2525?tls=none")
        #expect(local.host == "::1")
        #expect(local.port == 2525)
        #expect(local.encryption == .none)
    }

    @Test(
        "A malformed URL is rejected, and the error does not contain the password",
        arguments: [
            "", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://host/path", "smtp://host?tls=maybe",
            "smtps://host?tls=none", "smtp://ana:secret@host?tls=none", "smtp://:secret@host", "smtp://host:0",
            "smtp://host#x",
        ]
    )
    func malformedURL(_ url: String) {
        do {
            _ = try SMTPConfiguration(url: url)
            Issue.record("accepted: \(url)")
        } catch {
            #expect(!"\(error)".contains("secret"))
        }
    }
}
