import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// Has mails written: each is noted in the transaction that is its reason, and sent soon after.
///
/// Where no mail server is set nothing is noted, and what needs a mail says so.
struct EmailOutbox: Sendable {
    /// Mails to one address in a window, whoever asks for them; more are not written, and nobody is told.
    static let perAddress = 4
    /// Mails that one client may ask for in a window without being signed in.
    static let perCaller = 20
    /// Mails to any address that one account may ask for in a window.
    static let perAccount = 8
    /// Mails to addresses that nobody has verified yet, at one client's request in `strangerWindow`.
    static let strangersPerCaller = 10
    /// The same for a client in a private network or on this machine: a proxy in front may hide many clients there.
    static let strangersPerPrivateCaller = 1_000
    /// Seconds that a window lasts.
    static let window = 900
    /// Seconds that a window of mails to such addresses lasts.
    static let strangerWindow = 3_600
    private static let privateRanges =
        AddressRanges("127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,::1,fc00::/7,fe80::/10")
        ?? .loopback

    let isOn: Bool
    let now: @Sendable () -> Date
    /// Wakes whoever sends them, once the transaction is committed.
    let notify: @Sendable () -> Void

    /// - Throws: a 422 where no mail can be sent.
    func require() throws {
        guard isOn else {
            throw APIError(
                .unprocessable,
                "email_not_configured",
                "this server sends no mail; its operator has to set SMTP_URL"
            )
        }
    }

    /// Writes to an address that somebody has named, unless it has been written to enough.
    ///
    /// Costs the same whoever's address it is.
    func write(
        _ kind: Email.Kind,
        to address: EmailAddress,
        about account: UUID? = nil,
        in db: any PostgresExecutor
    ) async throws {
        guard isOn, try await counts(Self.bucket("mail", Data(address.folded.utf8)), Self.perAddress, in: db) else {
            return
        }
        try await EmailStore(db: db).insert(kind, to: address.text, about: account, id: UUID(), at: now())
    }

    /// Writes to an address that was an account's own until now.
    func sendNotice(
        _ kind: Email.Kind,
        toFormerAddress address: String,
        of account: UUID,
        in db: any PostgresExecutor
    ) async throws {
        guard isOn else { return }
        try await EmailStore(db: db).insert(kind, to: address, about: account, id: UUID(), at: now())
    }

    /// Tells the owner of an account what has become of it, where his address is verified.
    func sendNotice(_ kind: Email.Kind, toOwnerOf account: UUID, in db: any PostgresExecutor) async throws {
        guard isOn else { return }
        try await EmailStore(db: db).insert(kind, toOwnerOf: account, id: UUID(), at: now())
    }

    /// - Throws: a 429 for a client that has had enough mails written.
    func count(_ caller: ClientInfo, in db: any PostgresExecutor) async throws {
        guard let address = caller.address else { return }
        guard try await counts(Self.bucket("mails of", address.network), Self.perCaller, in: db) else {
            throw Self.tooMany
        }
    }

    /// Counts a mail to an address that nobody has verified yet; false if its client has had enough of them written.
    func mayWriteToStrangers(_ caller: ClientInfo, in db: any PostgresExecutor) async throws -> Bool {
        guard isOn, let address = caller.address else { return true }
        let limit =
            Self.privateRanges.contains(address) ? Self.strangersPerPrivateCaller : Self.strangersPerCaller
        let bucket = Self.bucket("mails to strangers of", address.network)
        return try await counts(bucket, limit, within: Self.strangerWindow, in: db)
    }

    /// - Throws: a 429 for an account that has had enough mails written.
    func count(_ account: UUID, in db: any PostgresExecutor) async throws {
        guard try await counts(Self.bucket("mails of", Data(account.wire.utf8)), Self.perAccount, in: db) else {
            throw Self.tooMany
        }
    }

    static let tooMany =
        APIError(.rateLimited, "too_many_emails", "too many mails; try again later", retryAfter: window)

    private func counts(
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
    /// What two addresses are compared by.
    ///
    /// Case makes no difference, though RFC 5321 lets it in front of the `@`: no provider has two mailboxes by that.
    var folded: String { NameFolding.fold(text) }
}
