import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Renews tokens that end, once for all who need them at the same time, on all instances.
///
/// A network that rotates refresh tokens takes each once: two that renew side by side would look to it like a theft.
final class Renewals: Sendable {
    /// How long one renewal may take, in seconds; after that another instance may try.
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

    /// Whether the tokens end so soon that they are renewed before they are used.
    func isDue(_ source: Source) -> Bool {
        guard source.record != nil, let lead = source.connector.renewal, let end = source.account.tokens.expiresAt
        else {
            return false
        }
        return end.timeIntervalSince(now()) < lead
    }

    /// The account with tokens that follow those given.
    ///
    /// - Throws: `NetworkError`: `auth` where only the person can help, which is noted; `transient` where it is worth
    ///   another try.
    func renewed(_ source: Source) async throws -> Source {
        guard let record = source.record else { throw NetworkError(.auth, "the tokens are not taken (any more)") }
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
        // Linked anew in between: then those tokens are the ones to use.
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
            logger.notice("tokens could not be renewed", metadata: metadata)
            throw NetworkError(.transient, "the tokens could not be renewed yet", code: error.code)
        }
        try await requireReauthentication(record)
        throw error
    }

    /// Notes that only the user can help with these tokens, and publishes that once.
    func requireReauthentication(_ record: AccountRecord) async throws {
        try await changeLog.requireReauthentication(record)
        logger.notice("an account must be linked anew", metadata: ["network": "\(record.network.rawValue)"])
    }

    /// What another instance makes of it.
    private func waitForOtherInstance(_ record: AccountRecord) async throws -> Source {
        let start = now()
        // It ends with the other's claim at the latest.
        while now().timeIntervalSince(start) < Self.timeout {
            let latest = try await reread(record)
            if latest.record?.version != record.version { return latest }
            if latest.record?.state == .reauthenticate { throw NetworkError(.auth, "the account must be linked anew") }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw NetworkError(.transient, "the tokens are being renewed")
    }

    private func reread(_ record: AccountRecord) async throws -> Source {
        guard let latest = try await AccountStore(db: database).account(of: record.user, on: record.network),
            let source = try sources.source(of: latest)
        else { throw NetworkError(.auth, "the account is not linked any more") }
        return source
    }
}

extension NetworkTokens {
    /// What was given in the place of these; what the answer lacks, or has empty, stays as it was.
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
