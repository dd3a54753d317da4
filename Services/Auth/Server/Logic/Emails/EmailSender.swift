import AuthAPI
import Crypto
import Foundation
import Logging
import Metrics
import Postgres
import SMTP
import ServiceHost
import Wire

/// Writes the mails that wait, and hands them to the mail server; several instances share what there is.
struct EmailSender: Sendable {
    /// How long a mail is tried, in seconds: past that its reason is old.
    static let maximumAge: TimeInterval = 86_400
    /// How long one has a mail to himself, in seconds: longer than handing it over may take.
    static let lease: TimeInterval = 300
    /// The longest pause between two tries, in seconds.
    static let longestPause: TimeInterval = 3_600

    let database: PostgresPool
    let client: SMTPClient
    let from: MailAddress
    let settings: EmailConfiguration
    let texts: AuthTexts
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    /// Sends one mail, if there is any.
    ///
    /// A mail that cannot be read, or fails for a reason other than the mail server, is retried later and delays no other.
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
            logger.notice("mail refused", metadata: ["kind": "\(email.kind)", "error": "\(error)"])
            return try await drop(email, "refused")
        } catch let error as SMTPError {
            logger.warning("mail not sent", metadata: ["kind": "\(email.kind)", "error": "\(error)"])
            Self.count("postponed")
            try await EmailStore(db: database).postpone(email.id, until: now().addingTimeInterval(Self.pause(email)))
            if case .refused(_, at: .recipient) = error { return .done }
            return .away
        }
    }

    /// 15 s, then twice as long each time, up to an hour.
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

    /// What a mail says by now; nil where there is nobody to say it to.
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
        // Whose address it is by now. Written to is what he has verified, and never what somebody typed that only folds
        // to it: that may be another's mailbox.
        var owner: Account?
        if let id = try await store.id(named: NameFolding.fold(email.address)) { owner = try await store.find(id) }
        switch email.kind {
        case .recover:
            guard let owner, let id = UUID(uuidString: owner.userId), let address = owner.email else { return nil }
            let link = try await self.link(.reset, in: email, of: id, to: address, at: settings.resetURL)
            return (address, EmailTemplates.Context(.recover, of: owner, link: link))
        case .verify:
            if let owner {
                guard owner.userId != email.account?.wire, let address = owner.email else { return nil }
                return (address, EmailTemplates.Context(.verify, of: owner, isTaken: true))
            }
            var (id, address) = (email.account, email.address)
            if id == nil, let newest = try await store.newestUnverified(address) {
                // Another verification mail was requested by its address alone.
                (id, address) = (newest.id, newest.email)
            }
            guard let id, let requester = try await store.find(id) else { return nil }
            let link = try await self.link(.verify, in: email, of: id, to: address, at: settings.verifyURL)
            // The greeting has no name, because the reader may not own the account.
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
        // Behind a #, so that it is in no log on the way, and nobody uses it up who only looks at the page.
        return "\(page)#token=\(token.text)"
    }
}

/// The secret of a link: 256 random bits, of which only the hash is kept.
struct EmailLinkToken: Sendable {
    let text: String

    private init(text: String) {
        self.text = text
    }

    static func random() -> EmailLinkToken { EmailLinkToken(text: Base64URL.random(bytes: 32)) }

    /// Nil for what can be none.
    init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return nil }
        self.text = text
    }

    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }
}
