import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The end of sessions.
///
/// One transaction deletes the row and writes a revocation and an event.
///
/// Verifiers in all services receive the revocation within a moment. The event is for services that store data of the
/// session. This process rejects the session's tokens as soon as the transaction is committed.
struct SessionRevocations: Sendable {
    private static let batch = 1_000

    let database: PostgresPool
    let events: EventOutbox
    let feed: RevocationFeed
    let audit: Audit
    let now: @Sendable () -> Date

    /// Ends sessions within a transaction and returns their number.
    @discardableResult
    func end(
        _ sessions: [UUID],
        of user: User.ID? = nil,
        as kind: SecurityEvent.Kind = .sessionEnded,
        in db: PostgresTransaction
    ) async throws -> Int {
        guard !sessions.isEmpty else { return 0 }
        let ended = try await RevocationStore(db: db).end(sessions, of: user, at: now())
        try await events.write(ended.map { SessionEnded($0, .ended) }, in: db)
        try await audit.record(kind, ended: ended, in: db)
        announce(ended.map(\.record), after: db)
        return ended.count
    }

    /// Makes this process reject the tokens of ended sessions after the commit.
    func announce(_ ended: [RevocationStore.Record], after transaction: PostgresTransaction) {
        transaction.onCommit { [feed] in feed.receive(ended) }
    }

    /// Ends one session of a user; returns false if the user has no session with this id.
    func end(_ session: UUID, of user: User.ID) async throws -> Bool {
        try await database.transaction { db in try await end([session], of: user, in: db) } > 0
    }

    func endAll(of user: User.ID, except session: UUID? = nil) async throws {
        try await database.transaction { db in try await endAll(of: user, except: session, in: db) }
    }

    func endAll(of user: User.ID, except session: UUID? = nil, in db: PostgresTransaction) async throws {
        try await end(try await SessionStore(db: db).lock(of: user, except: session), in: db)
    }

    /// Ends all sessions that were opened with a key, in batches.
    func endAll(openedBy key: String, of application: String) async throws {
        var count = Self.batch
        while count == Self.batch {
            count = try await database.transaction { db in
                let sessions = try await SessionStore(db: db).lock(openedBy: key, of: application, limit: Self.batch)
                return try await end(sessions, in: db)
            }
        }
    }

    /// Ends one batch of an application's sessions; returns true if more may remain.
    func endBatch(ofApplication application: String) async throws -> Bool {
        try await database.transaction { db in
            let sessions = try await SessionStore(db: db).lock(ofApplication: application, limit: Self.batch)
            return try await end(sessions, in: db)
        } == Self.batch
    }

    /// Deletes expired sessions in batches.
    ///
    /// Their tokens are invalid already, so no revocation is needed.
    func deleteExpired(seenBefore: Date) async throws {
        var count = Self.batch
        while count == Self.batch {
            count = try await database.transaction { db in
                let store = SessionStore(db: db)
                let expired = try await store.lockExpired(seenBefore: seenBefore, now: now(), limit: Self.batch)
                let deleted = try await store.delete(expired)
                try await events.write(deleted.map { SessionEnded($0, .expired) }, in: db)
                return deleted.count
            }
        }
    }
}

extension SessionEnded {
    fileprivate init(_ ended: RevocationStore.Ended, _ reason: Reason) {
        self.init(
            applicationId: ended.user.application,
            userId: ended.user.user,
            sessionId: ended.record.session.wire,
            deviceId: ended.deviceID,
            reason: reason
        )
    }

    fileprivate init(_ deleted: SessionStore.Deleted, _ reason: Reason) {
        self.init(
            applicationId: deleted.user.application,
            userId: deleted.user.user,
            sessionId: deleted.id.wire,
            deviceId: deleted.deviceID,
            reason: reason
        )
    }
}
