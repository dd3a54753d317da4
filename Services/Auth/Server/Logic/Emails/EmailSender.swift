import AuthAPI
import Crypto
import Foundation
import Logging
import Metrics
import Postgres
import SMTP
import ServiceHost
import Wire

/// The worker that sends queued emails to the SMTP server.
///
/// Several instances share the queue.
struct EmailSender: Sendable {
    /// The age in seconds after which an email is dropped, because its reason is outdated.
    static let maximumAge: TimeInterval = 86_400
    /// Seconds for which an instance claims an email, longer than an SMTP delivery can take.
    static let lease: TimeInterval = 300
    /// The longest delay between two delivery attempts, in seconds.
    static let longestPause: TimeInterval = 3_600

    let database: PostgresPool
    let client: SMTPClient
    let from: MailAddress
    let settings: EmailConfiguration
    let texts: AuthTexts
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    /// Sends one email, if the queue has one.
    ///
    /// An email that cannot be read, or fails for a reason other than the SMTP server, is retried later and delays no
    /// other.
    func round() async throws -> OutboxWorker.Outcome {
        let begin = now()
        let (emails, unreadable) = try await EmailStore(db: database)
            .claim(at: begin, until: begin.addingTimeInterval(Self.lease))
        try await setAside.failed(unreadable, of: .email)
        guard let email = emails.first else { return unreadable.isEmpty ? .nothing : .done }
        do {
            return try await send(email, at: begin)
        } catch {
            guard let failed = FailedRow([email.id.uuidString], error) else { throw error }
            try await setAside.failed([failed], of: .email)
            return .done
        }
    }

    private func send(_ email: Email, at begin: Date) async throws -> OutboxWorker.Outcome {
        guard begin.timeIntervalSince(email.createdAt) < Self.maximumAge else {
            return try await drop(email, "too_old")
        }
        guard let message = try await message(of: email) else { return try await drop(email, "no_recipient") }
        do {
            try await client.send(message)
            try await EmailStore(db: database).delete(email.id)
            Self.count("sent")
            return .done
        } catch let error as SMTPError where error.isPermanent {
            logger.notice("mail server rejected an email", metadata: ["kind": "\(email.kind)", "error": "\(error)"])
            return try await drop(email, "refused")
        } catch let error as SMTPError {
            logger.warning("email delivery failed", metadata: ["kind": "\(email.kind)", "error": "\(error)"])
            Self.count("postponed")
            try await EmailStore(db: database).postpone(email.id, until: now().addingTimeInterval(Self.pause(email)))
            if case .refused(_, at: .recipient) = error { return .done }
            return .away
        }
    }

    /// Returns the delay before the next attempt: 15 s, doubled after each attempt, up to an hour.
    private static func pause(_ email: Email) -> TimeInterval {
        min(15 * pow(2, Double(min(email.attempts, 12) - 1)), longestPause)
    }

    private func drop(_ email: Email, _ outcome: String) async throws -> OutboxWorker.Outcome {
        try await EmailStore(db: database).delete(email.id)
        Self.count(outcome)
        return .done
    }

    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_emails_total", dimensions: [("outcome", outcome)]).increment()
    }

    /// Renders an email from the current data; nil if it no longer has a recipient.
    private func message(of email: Email) async throws -> MailMessage? {
        guard let (receiver, context) = try await self.context(of: email),
            let address = try? MailAddress(receiver)
        else { return nil }
        let templates = EmailTemplates(appName: settings.appName, texts: texts)
        return MailMessage(
            from: from,
            to: address,
            subject: templates.subject(context),
            text: templates.text(context),
            messageID: "\(email.id.wire)@\(from.domain)",
            date: email.createdAt
        )
    }

    private func context(of email: Email) async throws -> (receiver: String, EmailTemplates.Context)? {
        let store = AccountStore(db: database)
        // The current owner of the address. The email goes to the address that the owner verified, never to the typed
        // one: an address that only folds to the same form may be another mailbox.
        var owner: Account?
        if let id = try await store.id(named: NameFolding.fold(email.address)) { owner = try await store.find(id) }
        switch email.kind {
        case .passwordReset:
            guard let owner, let id = UUID(uuidString: owner.userId), let address = owner.email else { return nil }
            let link = try await self.link(.reset, in: email, of: id, to: address, at: settings.resetURL)
            return (address, EmailTemplates.Context(.passwordReset, of: owner, link: link))
        case .verify:
            if let owner {
                guard owner.userId != email.account?.wire, let address = owner.email else { return nil }
                return (address, EmailTemplates.Context(.verify, of: owner, isTaken: true))
            }
            var (id, address) = (email.account, email.address)
            if id == nil, let newest = try await store.newestUnverified(address) {
                // The resend request contained only the address, so the account is looked up now.
                (id, address) = (newest.id, newest.email)
            }
            guard let id, let requester = try await store.find(id) else { return nil }
            let link = try await self.link(.verify, in: email, of: id, to: address, at: settings.verifyURL)
            // The greeting contains no name, because the reader may not own the account.
            let context = EmailTemplates.Context(
                kind: .verify,
                unverifiedUsername: requester.username,
                link: link,
                language: requester.language
            )
            return (address, context)
        case .passwordChanged, .emailChanged, .secondFactorOn, .secondFactorOff, .passkeyAdded, .identityLinked,
            .newDeviceSignIn:
            guard let id = email.account, let account = try await store.find(id) else { return nil }
            return (email.address, EmailTemplates.Context(email.kind, of: account))
        }
    }

    private func link(
        _ purpose: EmailLink.Purpose,
        in email: Email,
        of account: UUID,
        to address: String,
        at page: String
    ) async throws -> String {
        let token = EmailLinkToken.random()
        try await EmailLinkStore(db: database).insert(
            EmailLink(purpose: purpose, account: account, address: address),
            in: email.id,
            hash: token.hash,
            until: now().addingTimeInterval(purpose.lifetime)
        )
        // The fragment keeps the token out of server logs, and a GET of the page does not consume it.
        return "\(page)#token=\(token.text)"
    }
}

/// The secret of a link: 256 random bits, of which only the hash is stored.
struct EmailLinkToken: Sendable {
    let text: String

    private init(text: String) {
        self.text = text
    }

    static func random() -> EmailLinkToken { EmailLinkToken(text: Base64URL.random(bytes: 32)) }

    /// Returns nil for text that is not 32 bytes in base64url.
    init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return nil }
        self.text = text
    }

    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }
}
