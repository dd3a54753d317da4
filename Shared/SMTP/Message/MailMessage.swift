public import Foundation

/// A mail to one recipient, in plain text and optionally also in HTML (RFC 5322, RFC 2046).
public struct MailMessage: Sendable {
    /// The sender.
    public var from: MailAddress
    /// The recipient.
    public var to: MailAddress
    /// The subject in one line; characters after the first 255 are dropped.
    public var subject: String
    /// The plain-text body.
    public var text: String
    /// The same content as HTML.
    public var html: String?
    /// The unique id without angle brackets, `uuid@example.org`; the same id marks a second attempt as a duplicate.
    public var messageID: String
    /// The time of writing.
    public var date: Date
    /// Whether to mark the mail as sent by a program, which suppresses automatic replies (RFC 3834).
    public var isAutomatic: Bool

    /// Creates a mail.
    public init(
        from: MailAddress,
        to: MailAddress,
        subject: String,
        text: String,
        html: String? = nil,
        messageID: String,
        date: Date,
        isAutomatic: Bool = true
    ) {
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.messageID = messageID
        self.date = date
        self.isAutomatic = isAutomatic
    }

    /// The header and body in CRLF lines; 7-bit except for addresses that are not ASCII.
    var encoded: [UInt8] {
        var bytes = Array(header.joined().utf8)
        guard let html else {
            bytes += Self.partHeader("text/plain").utf8
            return bytes + QuotedPrintable.encode(text)
        }
        // A random boundary does not occur in the text.
        let boundary = "=_\(UUID().uuidString)"
        bytes += "Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"\r\n\r\n".utf8
        for (type, text) in [("text/plain", text), ("text/html", html)] {
            bytes += "--\(boundary)\r\n\(Self.partHeader(type))".utf8
            bytes += QuotedPrintable.encode(text)
        }
        return bytes + "--\(boundary)--\r\n".utf8
    }

    /// Whether the server must offer SMTPUTF8.
    var needsUTF8: Bool { !from.isASCII || !to.isASCII }

    private var header: [String] {
        let subject = String(subject.filter { !$0.isNewline }.prefix(255))
        let id = messageID.filter { $0.isASCII && !$0.isWhitespace && !"<>".contains($0) }
        return [
            Self.field("Date", Self.dateFormat.format(date)),
            Self.field("From", Self.mailbox(from)),
            Self.field("To", Self.mailbox(to)),
            Self.field("Message-ID", "<\(id)>"),
            Self.field("Subject", EncodedWord.encode(subject)),
            isAutomatic ? Self.field("Auto-Submitted", "auto-generated") : "",
            Self.field("MIME-Version", "1.0"),
        ]
    }

    private static func field(_ name: String, _ value: String) -> String { "\(name): \(value)\r\n" }

    private static func partHeader(_ type: String) -> String {
        "Content-Type: \(type); charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    }

    private static func mailbox(_ address: MailAddress) -> String {
        guard let name = address.name else { return "<\(address.text)>" }
        // The address has its own line, since both parts may be long.
        return "\(EncodedWord.encode(name, isPhrase: true))\r\n <\(address.text)>"
    }

    /// The format `Sat, 21 Nov 2026 09:05:00 +0000`, in English regardless of the system's locale.
    private static let dateFormat = Date.VerbatimFormatStyle(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
            \(second: .twoDigits) +0000
            """,
        locale: Locale(identifier: "en_US_POSIX"),
        timeZone: .gmt,
        calendar: Calendar(identifier: .gregorian)
    )
}
