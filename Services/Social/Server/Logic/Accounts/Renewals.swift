import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Renews expiring tokens, only once for concurrent requests on all instances.
///
/// A network that rotates refresh tokens accepts each one once, and treats a second concurrent use as theft.
final class Renewals: Sendable {
    /// The maximum duration of a renewal, in seconds; after that another instance may try.
    private static let timeout: TimeInterval = 15

    private let database: PostgresPool
    private let sources: Sources
    private let changeLog: ChangeLog
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let current = Lock<[String: Task<Source, any Error>]>([:])

    init(
        database: PostgresPool,
        sources: Sources,
        changeLog: ChangeLog,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.sources = sources
        self.changeLog = changeLog
        self.logger = logger
        self.now = now
    }

    /// Returns whether the tokens expire so soon that they must be renewed before use.
    func isDue(_ source: Source) -> Bool {
        guard source.record != nil, let lead = source.connector.renewal, let end = source.account.tokens.expiresAt,
            source.connector.canRenew(source.account)
        else {
            return false
        }
        return end.timeIntervalSince(now()) < lead
    }

    /// Returns the account with renewed tokens.
    ///
    /// - Throws: `NetworkError`: `auth` if the user must link the account again, which is recorded; `transient` if
    ///   a retry can succeed.
    func renewed(_ source: Source) async throws -> Source {
        guard let record = source.record else { throw NetworkError(.auth, "the network does not accept the tokens") }
        let key = source.key
        let task = current.withLock { current in
            if let task = current[key] { return task }
            let task = Task { [self] in
                defer { self.current.withLock { $0[key] = nil } }
                return try await renew(source, record)
            }
            current[key] = task
            return task
        }
        return try await task.cancellableValue
    }

    private func renew(_ source: Source, _ record: AccountRecord) async throws -> Source {
        let store = AccountStore(db: database)
        let end = now().addingTimeInterval(Self.timeout)
        guard try await store.claimRenewal(of: record, until: end, now: now()) else {
            return try await waitForOtherInstance(record)
        }
        let fresh: NetworkTokens
        do {
            fresh = try await within(.seconds(10)) { try await source.connector.renew(source.account) }
        } catch {
            return try await failed(NetworkError(error, isWrite: false), source, record)
        }
        let tokens = source.account.tokens.renewed(by: fresh)
        let sealed = try sources.tokenCipher.seal(tokens, of: record.user, on: record.network)
        _ = try await store.renew(record, with: sealed, expiresAt: tokens.expiresAt)
        // If the user linked the account again in between, the row has newer tokens.
        return try await reread(record)
    }

    private func failed(
        _ error: NetworkError,
        _ source: Source,
        _ record: AccountRecord
    ) async throws -> Source {
        let latest = try await reread(record)
        guard latest.record?.version == record.version else { return latest }
        let metadata: Logger.Metadata = ["network": "\(record.network.rawValue)", "reason": "\(error.reason)"]
        guard error.kind == .auth else {
            let isOver = source.account.tokens.expiresAt.map { $0 <= now() } ?? false
            try await AccountStore(db: database).settle(record, as: isOver ? .expired : .linked)
            logger.notice("token renewal failed", metadata: metadata)
            throw NetworkError(.transient, "the tokens could not be renewed yet", code: error.code)
        }
        try await requireReauthentication(record)
        throw error
    }

    /// Records that the user must link the account again; the change is published once.
    func requireReauthentication(_ record: AccountRecord) async throws {
        try await changeLog.requireReauthentication(record)
        logger.notice("account must be linked again", metadata: ["network": "\(record.network.rawValue)"])
    }

    /// Waits until the instance that has claimed the renewal is done; returns its result.
    private func waitForOtherInstance(_ record: AccountRecord) async throws -> Source {
        let start = now()
        // The other instance's claim ends after the same time.
        while now().timeIntervalSince(start) < Self.timeout {
            let latest = try await reread(record)
            if latest.record?.version != record.version { return latest }
            if latest.record?.state == .reauthenticate { throw NetworkError(.auth, "the account must be linked again") }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw NetworkError(.transient, "the tokens are being renewed")
    }

    private func reread(_ record: AccountRecord) async throws -> Source {
        guard let latest = try await AccountStore(db: database).account(of: record.user, on: record.network),
            let source = try sources.source(of: latest)
        else { throw NetworkError(.auth, "the account is no longer linked") }
        return source
    }
}

extension NetworkTokens {
    /// Returns these tokens updated with a renewal's response; a value that the response lacks or has empty is kept.
    func renewed(by fresh: NetworkTokens) -> NetworkTokens {
        func nonEmpty(_ new: String?, _ old: String?) -> String? { new.flatMap { $0.isEmpty ? nil : $0 } ?? old }
        return NetworkTokens(
            access: nonEmpty(fresh.access, access) ?? access,
            secret: nonEmpty(fresh.secret, secret),
            refresh: nonEmpty(fresh.refresh, refresh),
            expiresAt: fresh.expiresAt,
            others: fresh.others.map { (others ?? [:]).merging($0) { nonEmpty($1, $0) ?? $1 } } ?? others
        )
    }
}
