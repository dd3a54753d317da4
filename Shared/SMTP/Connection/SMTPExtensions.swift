/// The extensions that a server offers (RFC 5321, section 4.1.1.1).
struct SMTPExtensions: Sendable {
    var startTLS = false
    var utf8 = false
    /// The largest message in bytes; nil if the server states no limit (RFC 1870).
    var maximumSize: Int?
    /// The upper-case names of the authentication mechanisms (RFC 4954).
    var authentication: Set<String> = []

    init(_ reply: SMTPReply) {
        for line in reply.lines.dropFirst() {
            let words = line.uppercased().split(whereSeparator: { $0 == " " || $0 == "=" }).map(String.init)
            switch words.first {
            case "STARTTLS": startTLS = true
            case "SMTPUTF8": utf8 = true
            case "SIZE": maximumSize = words.dropFirst().first.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
            case "AUTH": authentication.formUnion(words.dropFirst())
            default: break
            }
        }
    }
}
