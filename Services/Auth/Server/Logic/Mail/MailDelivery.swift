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
struct MailDelivery: Sendable {
    /// How long a mail is tried, in seconds: past that its reason is old.
    static let patience: TimeInterval = 86_400
    /// How long one has a mail to himself, in seconds: longer than handing it over may take.
    static let lease: TimeInterval = 300
    /// The longest pause between two tries, in seconds.
    static let longestPause: TimeInterval = 3_600

    let database: PostgresPool
    let client: SMTPClient
    let from: MailAddress
    let settings: MailConfiguration
    let texts: AuthTexts
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    /// Sends one mail, if there is any.
    ///
    /// A mail that cannot be read, or fails for a reason other than the mail server, is retried later and delays no other.
    func round() async throws -> HandOvers.Outcome {
        let begin = now()
        let (mails, unreadable) = try await MailStore(db: database)
            .claim(at: begin, until: begin.addingTimeInterval(Self.lease))
        try await setAside.failed(unreadable, of: .mail)
        guard let mail = mails.first else { return unreadable.isEmpty ? .nothing : .done }
        do {
            return try await send(mail, at: begin)
        } catch {
            guard let failed = FailedRow([mail.id.uuidString], error) else { throw error }
            try await setAside.failed([failed], of: .mail)
            return .done
        }
    }

    private func send(_ mail: Mail, at begin: Date) async throws -> HandOvers.Outcome {
        guard begin.timeIntervalSince(mail.createdAt) < Self.patience else { return try await drop(mail, "too_old") }
        guard let message = try await message(of: mail) else { return try await drop(mail, "nobody") }
        do {
            try await client.send(message)
            try await MailStore(db: database).delete(mail.id)
            Self.count("sent")
            return .done
        } catch let error as SMTPError where error.isPermanent {
            logger.notice("mail refused", metadata: ["kind": "\(mail.kind)", "error": "\(error)"])
            return try await drop(mail, "refused")
        } catch let error as SMTPError {
            logger.warning("mail not sent", metadata: ["kind": "\(mail.kind)", "error": "\(error)"])
            Self.count("postponed")
            try await MailStore(db: database).postpone(mail.id, until: now().addingTimeInterval(Self.pause(mail)))
            if case .refused(_, at: .recipient) = error { return .done }
            return .away
        }
    }

    /// 15 s, then twice as long each time, up to an hour.
    private static func pause(_ mail: Mail) -> TimeInterval {
        min(15 * pow(2, Double(min(mail.attempts, 12) - 1)), longestPause)
    }

    private func drop(_ mail: Mail, _ outcome: String) async throws -> HandOvers.Outcome {
        try await MailStore(db: database).delete(mail.id)
        Self.count(outcome)
        return .done
    }

    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_emails_total", dimensions: [("outcome", outcome)]).increment()
    }

    /// What a mail says by now; nil where there is nobody to say it to.
    private func message(of mail: Mail) async throws -> MailMessage? {
        guard let (receiver, occasion) = try await self.occasion(of: mail),
            let address = try? MailAddress(receiver)
        else { return nil }
        let letters = Letters(appName: settings.appName, texts: texts)
        return MailMessage(
            from: from,
            to: address,
            subject: letters.subject(occasion),
            text: letters.text(occasion),
            messageID: "\(mail.id.wire)@\(from.domain)",
            date: mail.createdAt
        )
    }

    private func occasion(of mail: Mail) async throws -> (receiver: String, Letters.Occasion)? {
        let store = AccountStore(db: database)
        // Whose address it is by now. Written to is what he has verified, and never what somebody typed that only folds
        // to it: that may be another's mailbox.
        var owner: Account?
        if let id = try await store.id(named: NameFolding.fold(mail.address)) { owner = try await store.find(id) }
        switch mail.kind {
        case .recover:
            guard let owner, let id = UUID(uuidString: owner.userId), let address = owner.email else { return nil }
            let link = try await self.link(.reset, in: mail, of: id, to: address, at: settings.resetURL)
            return (address, Letters.Occasion(.recover, of: owner, link: link))
        case .verify:
            if let owner {
                guard owner.userId != mail.account?.wire, let address = owner.email else { return nil }
                return (address, Letters.Occasion(.verify, of: owner, isTaken: true))
            }
            var (id, address) = (mail.account, mail.address)
            if id == nil, let newest = try await store.newestUnverified(address) {
                // Another verification mail was requested by its address alone.
                (id, address) = (newest.id, newest.email)
            }
            guard let id, let asking = try await store.find(id) else { return nil }
            let link = try await self.link(.verify, in: mail, of: id, to: address, at: settings.verifyURL)
            // The greeting has no name, because the reader may not own the account.
            let occasion = Letters.Occasion(
                kind: .verify,
                unverifiedUsername: asking.username,
                link: link,
                language: asking.language
            )
            return (address, occasion)
        case .passwordChanged, .emailChanged, .secondFactorOn, .secondFactorOff, .passkeyAdded, .identityLinked,
            .newDeviceSignIn:
            guard let id = mail.account, let account = try await store.find(id) else { return nil }
            return (mail.address, Letters.Occasion(mail.kind, of: account))
        }
    }

    private func link(
        _ purpose: MailLink.Purpose,
        in mail: Mail,
        of account: UUID,
        to address: String,
        at page: String
    ) async throws -> String {
        let token = MailToken.random()
        try await MailLinkStore(db: database).insert(
            MailLink(purpose: purpose, account: account, address: address),
            in: mail.id,
            hash: token.hash,
            until: now().addingTimeInterval(purpose.lifetime)
        )
        // Behind a #, so that it is in no log on the way, and nobody uses it up who only looks at the page.
        return "\(page)#token=\(token.text)"
    }
}

/// The secret of a link: 256 random bits, of which only the hash is kept.
struct MailToken: Sendable {
    let text: String

    private init(text: String) {
        self.text = text
    }

    static func random() -> MailToken { MailToken(text: Base64URL.random(bytes: 32)) }

    /// Nil for what can be none.
    init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return nil }
        self.text = text
    }

    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }
}
