/// Why a mail was not handed over.
public enum SMTPError: Error, Hashable, Sendable {
    /// Where in the conversation a server refused.
    public enum Step: String, Hashable, Sendable {
        case greeting, hello, encryption, authentication, sender, recipient, content
    }

    /// There is no connection, or it ended; nothing was handed over.
    case unreachable(String)
    /// Encryption is asked for, and there is none to be had that can be trusted.
    case insecure(String)
    /// The server says no.
    case refused(SMTPReply, at: Step)
    /// The server offers no way to sign in that is known here.
    case noAuthentication
    /// The address has letters that the server does not take (RFC 6531).
    case unsupportedAddress
    /// The server takes no message of this size.
    case tooLarge(limit: Int)
    /// What answers does not speak SMTP.
    case notSMTP
    /// The whole mail was sent, and no answer came: it may have been taken.
    case unknownOutcome

    /// Whether the same mail would be refused again, whenever it is sent: that is about its receiver or what it says,
    /// and not about the server's day or the account by which we sign in there.
    public var isPermanent: Bool {
        switch self {
        case .refused(let reply, at: .recipient), .refused(let reply, at: .content): reply.isPermanent
        case .unsupportedAddress, .tooLarge: true
        default: false
        }
    }
}

extension SMTPError: CustomStringConvertible {
    /// Without the server's own words where those may repeat an address.
    public var description: String {
        switch self {
        case .unreachable(let reason): "the mail server cannot be reached: \(reason)"
        case .insecure(let reason): "the mail server cannot be trusted: \(reason)"
        case .refused(let reply, let step): "the mail server answered \(reply.code) to the \(step.rawValue)"
        case .noAuthentication: "the mail server offers neither AUTH PLAIN nor AUTH LOGIN"
        case .unsupportedAddress: "the mail server takes no addresses beyond ASCII"
        case .tooLarge(let limit): "the mail server takes at most \(limit) bytes"
        case .notSMTP: "what answers is no mail server"
        case .unknownOutcome: "the mail server did not say whether it took the mail"
        }
    }
}
