import Foundation
public import NIOCore
import NIOPosix
import NIOSSL

/// A client that submits mail to a mail server (RFC 6409), with one connection per mail.
public struct SMTPClient: Sendable {
    private let configuration: SMTPConfiguration
    private let tls: NIOSSLContext
    private let group: any EventLoopGroup

    /// Creates a client; it does not connect yet.
    ///
    /// - Parameters:
    ///   - configuration: The server and its credentials.
    ///   - group: The event loops of the connections; by default the process's singleton.
    /// - Throws: `SMTPConfiguration.Malformed` if the trusted certificates cannot be read.
    public init(_ configuration: SMTPConfiguration, group: (any EventLoopGroup)? = nil) throws {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = .tlsv12
        do {
            if let trusted = configuration.trustedCA {
                let certificates = try NIOSSLCertificate.fromPEMBytes(Array(trusted.utf8))
                settings.additionalTrustRoots = [.certificates(certificates)]
            }
            tls = try NIOSSLContext(configuration: settings)
        } catch {
            throw SMTPConfiguration.Malformed(description: "has trusted certificates that cannot be read")
        }
        self.configuration = configuration
        self.group = group ?? MultiThreadedEventLoopGroup.singleton
    }

    /// Sends a mail; returns when the server has accepted it.
    ///
    /// - Throws: `SMTPError`. If `isPermanent` is false, retry with the same `messageID`, since the server may have
    ///   accepted the mail after `unknownOutcome`.
    public func send(_ message: MailMessage) async throws {
        let connection = try await SMTPConnection.open(configuration, tls: tls, on: group)
        do {
            let extensions = try await begin(connection)
            try await deliver(message, over: connection, extensions)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    /// Reads the greeting, starts TLS and authenticates.
    private func begin(_ connection: SMTPConnection) async throws -> SMTPExtensions {
        try Self.require(try await connection.reply(), 220, at: .greeting)
        var extensions = try await hello(connection)
        if configuration.encryption == .startTLS {
            guard extensions.startTLS else { throw SMTPError.insecure("the server does not offer STARTTLS") }
            try Self.require(try await connection.command("STARTTLS"), 220, at: .encryption)
            try await connection.encrypt(by: tls)
            // Extensions that were offered before encryption are untrusted.
            extensions = try await hello(connection)
        }
        if let login = configuration.login { try await signIn(login, on: connection, extensions) }
        return extensions
    }

    private func hello(_ connection: SMTPConnection) async throws -> SMTPExtensions {
        let name = configuration.clientName ?? connection.addressLiteral
        let reply = try await connection.command("EHLO \(name)")
        try Self.require(reply, 250, at: .hello)
        return SMTPExtensions(reply)
    }

    private func signIn(
        _ login: SMTPConfiguration.Login,
        on connection: SMTPConnection,
        _ extensions: SMTPExtensions
    ) async throws {
        func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
        if extensions.authentication.contains("PLAIN") {
            // The message of RFC 4616.
            let secret = base64("\0\(login.username)\0\(login.password)")
            try Self.require(try await connection.command("AUTH PLAIN \(secret)"), 235, at: .authentication)
        } else if extensions.authentication.contains("LOGIN") {
            try Self.require(try await connection.command("AUTH LOGIN"), 334, at: .authentication)
            try Self.require(try await connection.command(base64(login.username)), 334, at: .authentication)
            try Self.require(try await connection.command(base64(login.password)), 235, at: .authentication)
        } else {
            throw SMTPError.noAuthentication
        }
    }

    private func deliver(
        _ message: MailMessage,
        over connection: SMTPConnection,
        _ extensions: SMTPExtensions
    ) async throws {
        guard !message.needsUTF8 || extensions.utf8 else { throw SMTPError.unsupportedAddress }
        let bytes = message.encoded
        if let limit = extensions.maximumSize, bytes.count > limit { throw SMTPError.tooLarge(limit: limit) }
        let size = extensions.maximumSize == nil ? "" : " SIZE=\(bytes.count)"
        let utf8 = message.needsUTF8 ? " SMTPUTF8" : ""
        let sender = "MAIL FROM:<\(message.from.text)>\(size)\(utf8)"
        try Self.require(try await connection.command(sender), 250, at: .sender)
        let receiver = try await connection.command("RCPT TO:<\(message.to.text)>")
        // 251 and 252 mean that the server forwards the mail or attempts its delivery.
        guard (250...252).contains(receiver.code) else { throw SMTPError.refused(receiver, at: .recipient) }
        try Self.require(try await connection.command("DATA"), 354, at: .content)
        try Self.require(try await connection.content(bytes), 250, at: .content)
    }

    private static func require(_ reply: SMTPReply, _ code: Int, at step: SMTPError.Step) throws {
        guard reply.code == code else { throw SMTPError.refused(reply, at: step) }
    }
}
