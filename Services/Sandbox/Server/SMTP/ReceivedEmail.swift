package import Foundation
import Wire

package struct ReceivedEmail: Codable, Sendable {
    /// The number in the order of arrival, from 1.
    package var number: Int
    package var sender: String
    package var receiver: String
    package var subject: String
    /// The decoded plain text.
    package var text: String
    package var messageId: String
    package var receivedAt: Date
    /// How often a mail with this `Message-ID` has arrived for this receiver, including this time.
    package var copies: Int
    /// The header and body as received.
    package var raw: String

    package var links: [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
            .filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    }
}

/// The content of a mail, checked as strictly as RFC 5322, section 3.6, allows.
struct EmailContent: Sendable {
    struct Violation: Error {
        let text: String
    }

    /// The header fields that must occur exactly once.
    private static let requiredHeaders = ["from", "to", "date", "message-id", "subject", "mime-version"]

    let messageID: String
    let subject: String
    let text: String

    /// - Throws: `Violation` when the mail is malformed, or when its addresses differ from those of the SMTP session.
    init(_ raw: String, sender: String, receiver: String) throws {
        let (header, body) = try Self.headerAndBody(raw)
        for name in Self.requiredHeaders {
            guard let values = header[name], values.count == 1 else {
                throw Violation(text: "5.6.0 a mail must have exactly one \(name) header")
            }
        }
        func first(_ name: String) -> String { header[name]?.first ?? "" }
        guard Self.address(first("from")) == sender else {
            throw Violation(text: "5.7.1 From must be the address of MAIL FROM")
        }
        guard Self.address(first("to")) == receiver else {
            throw Violation(text: "5.7.1 To must be the address of RCPT TO")
        }
        let id = first("message-id")
        guard id.hasPrefix("<"), id.hasSuffix(">"), id.contains("@") else {
            throw Violation(text: "5.6.0 Message-ID must have the form <id@domain>")
        }
        let date = /(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/
        guard first("date").wholeMatch(of: date) != nil else {
            throw Violation(text: "5.6.0 Date must have the format of RFC 5322")
        }
        messageID = String(id.dropFirst().dropLast())
        subject = EncodedHeader.decode(first("subject"))
        text = try Self.plainText(first("content-type"), first("content-transfer-encoding"), body)
    }

    private static func headerAndBody(_ raw: String) throws -> (header: [String: [String]], body: String) {
        guard let gap = raw.range(of: "\r\n\r\n") else { throw Violation(text: "5.6.0 the mail has no header or body") }
        var header: [String: [String]] = [:]
        // A line that begins with white space continues the previous line.
        let unfolded = raw[..<gap.lowerBound].replacing("\r\n ", with: " ").replacing("\r\n\t", with: " ")
        for line in unfolded.split(separator: "\r\n", omittingEmptySubsequences: false) {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
                line[..<colon].utf8.allSatisfy({ (33...126).contains($0) })
            else { throw Violation(text: "5.6.0 the header has a malformed line") }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            header[line[..<colon].lowercased(), default: []].append(value)
        }
        return (header, String(raw[gap.upperBound...]))
    }

    /// Returns the address in angle brackets, or the whole text without brackets.
    private static func address(_ mailbox: String) -> String {
        guard let begin = mailbox.lastIndex(of: "<"), let end = mailbox.lastIndex(of: ">"), begin < end else {
            return mailbox
        }
        return String(mailbox[mailbox.index(after: begin)..<end])
    }

    /// Returns the text of the mail, or of its first `text/plain` part.
    private static func plainText(_ type: String, _ coding: String, _ body: String) throws -> String {
        if type.lowercased().hasPrefix("multipart/") {
            guard let mark = type.range(of: "boundary=") else {
                throw Violation(text: "5.6.0 a multipart Content-Type must have a boundary")
            }
            let boundary = type[mark.upperBound...].prefix { $0 != ";" }.trimmingCharacters(in: ["\"", " "])
            for part in body.components(separatedBy: "--\(boundary)").dropFirst() where !part.hasPrefix("--") {
                let (header, text) = try headerAndBody(String(part.drop { $0.isNewline }))
                let type = header["content-type"]?.first ?? "text/plain"
                guard type.lowercased().hasPrefix("text/plain") else { continue }
                return try plainText(type, header["content-transfer-encoding"]?.first ?? "", text)
            }
            return ""
        }
        switch coding.lowercased() {
        case "", "7bit", "8bit": return body
        case "quoted-printable": return EncodedHeader.quotedPrintable(body.replacing("=\r\n", with: ""))
        case "base64":
            guard let bytes = Data(base64Encoded: body.filter { !$0.isWhitespace }) else { break }
            return String(decoding: bytes, as: UTF8.self)
        default: break
        }
        throw Violation(text: "5.6.1 Content-Transfer-Encoding is not supported or the body is malformed")
    }
}

/// The decoder for 7-bit encodings of text (RFC 2047, and RFC 2045 section 6.7).
enum EncodedHeader {
    static func decode(_ text: String) -> String {
        var decoded = ""
        var isAfterWord = false
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let parts = word.split(separator: "?", omittingEmptySubsequences: false)
            let isWord = parts.count == 5 && parts[0] == "=" && parts[4] == "=" && parts[1].lowercased() == "utf-8"
            let value =
                isWord
                ? parts[2].lowercased() == "b"
                    ? Data(base64Encoded: String(parts[3])).map { String(decoding: $0, as: UTF8.self) }
                    : quotedPrintable(parts[3].replacing("_", with: " "))
                : nil
            // White space between two encoded words is not part of the text.
            if !decoded.isEmpty, !(isAfterWord && value != nil) { decoded += " " }
            decoded += value ?? String(word)
            isAfterWord = value != nil
        }
        return decoded
    }

    static func quotedPrintable(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "="), digits.utf8.count == 2, let escaped = UInt8(digits, radix: 16) {
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
