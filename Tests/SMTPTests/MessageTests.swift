import Foundation
import Testing

@testable import SMTP

@Suite struct MailAddressTests {
    @Test(arguments: [
        "ana@example.org", "ana.b+c@mail.example.org", "o'neil@example.org", "\"a@b\"@example.org",
        "\"a \\\" b\"@x.org",
        "jörg@example.org", "ana@bücher.example", "a@localhost",
    ])
    func validAddresses(_ text: String) throws {
        #expect(try MailAddress(text).text == text)
    }

    @Test(arguments: [
        "", "ana", "@example.org", "ana@", "a..b@example.org", ".a@example.org", "a b@example.org", "a>b@example.org",
        "a<b@example.org", "a\r\nRCPT TO:<x@y>@example.org", "a@example.org\r\nDATA", "a@-example.org",
        "a@example..org",
        "a@[127.0.0.1]", "a@exa mple.org", "\"a\"b\"@example.org", "\"a\\\"@example.org", "a\u{202E}b@example.org",
        "a@example.org>", String(repeating: "a", count: 65) + "@example.org",
        "a@" + Array(repeating: "abcdefghi", count: 26).joined(separator: "."),
    ])
    func injectionInAddress(_ text: String) {
        #expect(throws: MailAddress.Malformed.self) { try MailAddress(text) }
    }

    @Test func aNameBeginsNoOtherHeader() throws {
        #expect(throws: MailAddress.Malformed.self) {
            try MailAddress("ana@example.org", name: "Ana\r\nBcc: all@example.org")
        }
        #expect(try MailAddress("ana@example.org", name: "").name == nil)
    }
}

@Suite struct EncodingTests {
    /// RFC 2045's own rules, by example.
    @Test func bodiesAreQuotedPrintable() {
        let text = "caf\u{E9} = 2,50 €\nends with a space \n\n.dot"
        let encoded = String(decoding: QuotedPrintable.encode(text), as: UTF8.self)
        #expect(encoded == "caf=C3=A9 =3D 2,50 =E2=82=AC\r\nends with a space=20\r\n\r\n.dot\r\n")
    }

    @Test(arguments: ["x", "é", "=", " "])
    func noEncodedLineIsLongerThanSeventySix(_ text: String) throws {
        let encoded = QuotedPrintable.encode(String(repeating: text, count: 500))
        let lines = String(decoding: encoded, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        #expect(lines.count > 5)
        // An escape is never cut in two.
        #expect(lines.dropLast(2).allSatisfy { $0.hasSuffix("=") && !$0.dropLast().hasSuffix("=") })
    }

    @Test func headersBeyondASCIIAreWordsThatEachDecodeAlone() throws {
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

    @Test func plainHeadersStayAsTheyAre() {
        #expect(EncodedWord.encode("Your password, again") == "Your password, again")
        #expect(EncodedWord.encode("Ana B", isPhrase: true) == "Ana B")
        #expect(EncodedWord.encode("B, Ana \"A\"", isPhrase: true) == #""B, Ana \"A\"""#)
        // It would be decoded, and say something else.
        #expect(EncodedWord.encode("=?utf-8?B?SGk=?=").hasPrefix("=?utf-8?B?PT"))
    }

    @Test func aDotAtALinesBeginningIsDoubled() {
        func dotStuffed(_ text: String) -> String {
            String(decoding: SMTPConnection.dotStuffed(Array(text.utf8)), as: UTF8.self)
        }
        #expect(dotStuffed(".\r\na.b\r\n..\r\n") == "..\r\na.b\r\n...\r\n.\r\n")
        #expect(dotStuffed("no end") == "no end\r\n.\r\n")
    }
}

@Suite struct SMTPConfigurationTests {
    @Test func anAddressSaysItAll() throws {
        let submission = try SMTPConfiguration(url: "smtp://ana%40x:p%3A%2F@mail.example.org")
        #expect(submission.host == "mail.example.org" && submission.port == 587)
        #expect(submission.encryption == .startTLS)
        #expect(submission.login?.username == "ana@x" && submission.login?.password == "p:/")
        let implicit = try SMTPConfiguration(url: "smtps://mail.example.org/")
        #expect(implicit.port == 465 && implicit.encryption == .implicit && implicit.login == nil)
        let local = try SMTPConfiguration(url: "smtp://[::1]:2525?tls=none")
        #expect(local.host == "::1" && local.port == 2525 && local.encryption == .none)
    }

    @Test(arguments: [
        "", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://host/path", "smtp://host?tls=maybe",
        "smtps://host?tls=none", "smtp://ana:secret@host?tls=none", "smtp://:secret@host", "smtp://host:0",
        "smtp://host#x",
    ])
    func malformedURL(_ url: String) {
        do {
            _ = try SMTPConfiguration(url: url)
            Issue.record("taken: \(url)")
        } catch {
            #expect(!"\(error)".contains("secret"))
        }
    }
}
