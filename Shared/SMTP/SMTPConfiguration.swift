import Foundation
public import NIOCore

/// The mail server and the way to connect to it.
public struct SMTPConfiguration: Sendable {
    /// The encryption of the connection.
    public enum Encryption: Hashable, Sendable {
        /// TLS from the first byte (RFC 8314, section 3.3).
        case implicit
        /// `STARTTLS` (RFC 3207); required, because an attacker could remove the server's offer.
        case startTLS
        /// No encryption, for a server on the same machine or network; authentication is not allowed.
        case none
    }

    /// The account on the server (RFC 4954).
    public struct Login: Sendable {
        /// The account's name.
        public var username: String
        /// The account's password.
        public var password: String

        /// Creates a login.
        public init(username: String, password: String) {
            self.username = username
            self.password = password
        }
    }

    /// The error of an invalid configuration.
    public struct Malformed: Error, CustomStringConvertible {
        /// The problem, as a predicate whose subject is the setting: "has a password but no user".
        public let description: String
    }

    /// The host name or IP address, without brackets.
    public var host: String
    /// The TCP port.
    public var port: Int
    /// The encryption of the connection.
    public var encryption: Encryption
    /// The account; nil sends mail without authentication.
    public var login: Login?
    /// The client's name in `EHLO`; nil uses the connection's local address.
    public var clientName: String?
    /// PEM certificates of authorities that are trusted in addition to the system's.
    public var trustedCA: String?
    /// The time limit for connecting.
    public var connectTimeout = TimeAmount.seconds(10)
    /// The time limit for a reply.
    ///
    /// RFC 5321 (section 4.5.3.2) recommends minutes; here a user waits for the mail.
    public var replyTimeout = TimeAmount.seconds(30)
    /// The time limit for the reply to a mail's content.
    public var contentTimeout = TimeAmount.seconds(120)

    /// Creates a configuration.
    public init(host: String, port: Int, encryption: Encryption, login: Login? = nil) {
        self.host = host
        self.port = port
        self.encryption = encryption
        self.login = login
    }

    /// Parses `smtps://user:password@mail.example.org` (port 465, implicit TLS), `smtp://…` (port 587, STARTTLS) or
    /// `smtp://…?tls=none` (port 25, cleartext).
    ///
    /// User and password are percent-encoded.
    ///
    /// - Throws: `Malformed`, whose description does not repeat the URL, since it may contain the password.
    public init(url: String) throws {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            ["smtp", "smtps"].contains(scheme), let host = parts.host, !host.isEmpty,
            parts.path.isEmpty || parts.path == "/", parts.fragment == nil
        else { throw Malformed(description: "must have the form smtp://user:password@mail.example.org:587") }
        switch (scheme, parts.query) {
        case ("smtps", nil): encryption = .implicit
        case ("smtp", nil): encryption = .startTLS
        case ("smtp", "tls=none"): encryption = .none
        default: throw Malformed(description: "may have no query except ?tls=none with smtp://")
        }
        let standard = [Encryption.implicit: 465, .startTLS: 587, .none: 25]
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? standard[encryption] ?? 587
        guard (1...65_535).contains(port) else { throw Malformed(description: "must have a port from 1 to 65535") }
        guard let user = parts.user, !user.isEmpty else {
            guard parts.password == nil else { throw Malformed(description: "has a password but no user") }
            return
        }
        guard encryption != .none else {
            throw Malformed(description: "has a password, which ?tls=none would send unencrypted")
        }
        login = Login(username: user, password: parts.password ?? "")
    }
}
