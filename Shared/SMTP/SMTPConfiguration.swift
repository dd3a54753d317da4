import Foundation
public import NIOCore

/// Which server mails are handed to, and how.
public struct SMTPConfiguration: Sendable {
    /// How what is said stays between the two.
    public enum Encryption: Hashable, Sendable {
        /// From the first byte (RFC 8314, section 3.3).
        case implicit
        /// By `STARTTLS` (RFC 3207); a server that does not offer it gets no mail, for its offer can be taken out on
        /// the way.
        case startTLS
        /// None: for a server on the same machine or wire. Nobody signs in over it.
        case none
    }

    /// Whom the server knows us as (RFC 4954).
    public struct Login: Sendable {
        public var username: String
        public var password: String

        public init(username: String, password: String) {
            self.username = username
            self.password = password
        }
    }

    /// An address that says something else than a mail server.
    public struct Malformed: Error, CustomStringConvertible {
        public let description: String
    }

    public var host: String
    public var port: Int
    public var encryption: Encryption
    public var login: Login?
    /// The name that is said in `EHLO`; the connection's own address where there is none.
    public var clientName: String?
    /// Certificates of authorities that are trusted beside the machine's, PEM.
    public var trustedCA: String?
    /// How long a connection may take.
    public var connectTimeout = TimeAmount.seconds(10)
    /// How long an answer may take.
    ///
    /// RFC 5321 (section 4.5.3.2) waits for minutes; here somebody waits for the mail.
    public var replyTimeout = TimeAmount.seconds(30)
    /// How long a server may look at a mail before it takes it.
    public var contentTimeout = TimeAmount.seconds(120)

    public init(host: String, port: Int, encryption: Encryption, login: Login? = nil) {
        self.host = host
        self.port = port
        self.encryption = encryption
        self.login = login
    }

    /// Reads `smtps://user:password@mail.example.org` (port 465, encrypted from the start), `smtp://…` (port 587, by
    /// STARTTLS) or `smtp://…?tls=none` (port 25, cleartext); user and password percent-encoded.
    ///
    /// - Throws: `Malformed`, which repeats nothing of the address.
    public init(url: String) throws {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            ["smtp", "smtps"].contains(scheme), let host = parts.host, !host.isEmpty,
            parts.path.isEmpty || parts.path == "/", parts.fragment == nil
        else { throw Malformed(description: "must be like smtp://user:password@mail.example.org:587") }
        switch (scheme, parts.query) {
        case ("smtps", nil): encryption = .implicit
        case ("smtp", nil): encryption = .startTLS
        case ("smtp", "tls=none"): encryption = .none
        default: throw Malformed(description: "may have nothing behind the host but ?tls=none with smtp://")
        }
        let standard = [Encryption.implicit: 465, .startTLS: 587, .none: 25]
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? standard[encryption] ?? 587
        guard (1...65_535).contains(port) else { throw Malformed(description: "has a port that is none") }
        guard let user = parts.user, !user.isEmpty else {
            guard parts.password == nil else { throw Malformed(description: "has a password and no user") }
            return
        }
        guard encryption != .none else {
            throw Malformed(description: "has a password, which ?tls=none would send in the clear")
        }
        login = Login(username: user, password: parts.password ?? "")
    }
}
