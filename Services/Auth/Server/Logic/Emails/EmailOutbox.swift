import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// The outbox of emails: a row is written in the transaction that causes the email, and sent soon after the commit.
///
/// Without an SMTP server no rows are written, and requests that need an email fail with `email_not_configured`.
struct EmailOutbox: Sendable {
    /// Emails to one address in a window, for all clients together.
    ///
    /// Further emails are silently dropped.
    static let perAddress = 4
    /// Emails that one client may request in a window without a session.
    static let perCaller = 20
    /// Emails to any address that one account may request in a window.
    static let perAccount = 8
    /// Emails to unverified addresses that one client may cause in `strangerWindow`.
    static let strangersPerCaller = 10
    /// The same for a client in a private network or on this machine, where a proxy may hide many clients.
    static let strangersPerPrivateCaller = 1_000
    /// The length of a window, in seconds.
    static let window = 900
    /// The length of a window of emails to unverified addresses, in seconds.
    static let strangerWindow = 3_600
    private static let privateRanges =
        AddressRanges("127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,::1,fc00::/7,fe80::/10")
        ?? .loopback

    let isOn: Bool
    let now: @Sendable () -> Date
    /// Notifies the outbox worker; called after the commit.
    let notify: @Sendable () -> Void

    /// - Throws: `email_not_configured`, a 422, if no SMTP server is configured.
    func require() throws {
        guard isOn else {
            throw APIError(
                .unprocessable,
                "email_not_configured",
                "this server cannot send e-mail; the operator must set SMTP_URL"
            )
        }
    }

    /// Queues an email to an address from a request, unless the address has reached its limit.
    ///
    /// The work is the same for every address, so response times do not reveal accounts.
    func write(
        _ kind: Email.Kind,
        to address: EmailAddress,
        about account: UUID? = nil,
        in db: any PostgresExecutor
    ) async throws {
        let bucket = Self.bucket("mail", Data(address.folded.utf8))
        guard isOn, try await isWithinLimit(bucket, Self.perAddress, in: db) else { return }
        try await EmailStore(db: db).insert(kind, to: address.text, about: account, id: UUID(), at: now())
    }

    func sendNotice(
        _ kind: Email.Kind,
        toFormerAddress address: String,
        of account: UUID,
        in db: any PostgresExecutor
    ) async throws {
        guard isOn else { return }
        try await EmailStore(db: db).insert(kind, to: address, about: account, id: UUID(), at: now())
    }

    /// Queues an email to the owner of an account, if the account has a verified address.
    func sendNotice(_ kind: Email.Kind, toOwnerOf account: UUID, in db: any PostgresExecutor) async throws {
        guard isOn else { return }
        try await EmailStore(db: db).insert(kind, toOwnerOf: account, id: UUID(), at: now())
    }

    /// Counts an email for a client.
    ///
    /// - Throws: `too_many_emails`, a 429, if the client has reached its limit.
    func count(_ caller: ClientInfo, in db: any PostgresExecutor) async throws {
        guard let address = caller.address else { return }
        guard try await isWithinLimit(Self.bucket("mails of", address.network), Self.perCaller, in: db) else {
            throw Self.tooMany
        }
    }

    /// Counts an email to an unverified address; returns false if the client has reached its limit.
    func mayWriteToStrangers(_ caller: ClientInfo, in db: any PostgresExecutor) async throws -> Bool {
        guard isOn, let address = caller.address else { return true }
        let limit =
            Self.privateRanges.contains(address) ? Self.strangersPerPrivateCaller : Self.strangersPerCaller
        let bucket = Self.bucket("mails to strangers of", address.network)
        return try await isWithinLimit(bucket, limit, within: Self.strangerWindow, in: db)
    }

    /// Counts an email for an account.
    ///
    /// - Throws: `too_many_emails`, a 429, if the account has reached its limit.
    func count(_ account: UUID, in db: any PostgresExecutor) async throws {
        guard try await isWithinLimit(Self.bucket("mails of", Data(account.wire.utf8)), Self.perAccount, in: db) else {
            throw Self.tooMany
        }
    }

    static let tooMany =
        APIError(.rateLimited, "too_many_emails", "too many emails requested; try again later", retryAfter: window)

    private func isWithinLimit(
        _ bucket: Data,
        _ limit: Int,
        within window: Int = Self.window,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        let now = now()
        let counts = try await LoginFailureStore(db: db).add(
            to: [bucket],
            windowsSince: now.addingTimeInterval(-TimeInterval(window)),
            now: now
        )
        return counts.allSatisfy { $0.failures <= limit }
    }

    private static func bucket(_ kind: String, _ name: Data) -> Data {
        Data(SHA256.hash(data: Data("\(kind):".utf8) + name))
    }
}

extension EmailAddress {
    /// The form that comparisons use.
    ///
    /// Case is ignored. RFC 5321 permits case-sensitive local parts, but no provider distinguishes mailboxes by case.
    var folded: String { NameFolding.fold(text) }
}
