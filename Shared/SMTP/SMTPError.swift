/// The error of a mail that was not sent.
public enum SMTPError: Error, Hashable, Sendable {
    /// The step of the SMTP session at which the server refused.
    public enum Step: String, Hashable, Sendable {
        /// The steps in their order.
        case greeting, hello, encryption, authentication, sender, recipient, content
    }

    /// The connection failed or ended; the mail was not sent.
    case unreachable(String)
    /// TLS is required, but the server does not offer it or is not trusted.
    case insecure(String)
    /// The server refused a command with this reply.
    case refused(SMTPReply, at: Step)
    /// The server offers neither AUTH PLAIN nor AUTH LOGIN.
    case noAuthentication
    /// An address is not ASCII, and the server does not offer SMTPUTF8 (RFC 6531).
    case unsupportedAddress
    /// The mail exceeds the server's limit in bytes.
    case tooLarge(limit: Int)
    /// The server does not implement SMTP.
    case notSMTP
    /// The whole mail was sent, but no reply arrived: the server may have accepted it.
    case unknownOutcome

    /// Whether a retry of the same mail would fail again, because of its recipient or content.
    ///
    /// Errors of the server or the client's account are not permanent.
    public var isPermanent: Bool {
        switch self {
        case .refused(let reply, at: .recipient), .refused(let reply, at: .content): reply.isPermanent
        case .unsupportedAddress, .tooLarge: true
        default: false
        }
    }
}

extension SMTPError: CustomStringConvertible {
    /// The error without the server's text, which may contain a mail address.
    public var description: String {
        switch self {
        case .unreachable(let reason): "the mail server cannot be reached: \(reason)"
        case .insecure(let reason): "the mail server cannot be trusted: \(reason)"
        case .refused(let reply, let step): "the mail server answered \(reply.code) to the \(step.rawValue)"
        case .noAuthentication: "the mail server offers neither AUTH PLAIN nor AUTH LOGIN"
        case .unsupportedAddress: "the mail server accepts only ASCII addresses"
        case .tooLarge(let limit): "the mail is larger than the mail server's limit of \(limit) bytes"
        case .notSMTP: "the server is not a mail server"
        case .unknownOutcome: "the mail server did not confirm whether it accepted the mail"
        }
    }
}
