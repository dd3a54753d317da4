import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// How sessions end: one transaction deletes the row, and writes a revocation, from which every service learns of it within
/// a moment, and an event for the services that store something of the session.
///
/// This process refuses the tokens of the session as soon as the transaction is committed.
struct SessionRevocations: Sendable {
    /// How many go in one transaction.
    private static let batch = 1_000

    let database: PostgresPool
    let events: EventOutbox
    let feed: RevocationFeed
    let audit: Audit
    let now: @Sendable () -> Date

    /// Ends sessions within a transaction; returns how many there were.
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

    /// Has this process refuse the tokens of ended sessions once a transaction is committed.
    func announce(_ ended: [RevocationStore.Record], after transaction: PostgresTransaction) {
        transaction.onCommit { [feed] in feed.receive(ended) }
    }

    /// Ends one session of a user; false if he has none of that id.
    func end(_ session: UUID, of user: User.ID) async throws -> Bool {
        try await database.transaction { db in try await end([session], of: user, in: db) } > 0
    }

    /// Ends a user's sessions, all or all but one.
    func endAll(of user: User.ID, except kept: UUID? = nil) async throws {
        try await database.transaction { db in try await endAll(of: user, except: kept, in: db) }
    }

    func endAll(of user: User.ID, except kept: UUID? = nil, in db: PostgresTransaction) async throws {
        try await end(try await SessionStore(db: db).lock(of: user, except: kept), in: db)
    }

    /// Ends the sessions that a key vouched for, some at a time: there may be very many.
    func endAll(openedBy key: String, of application: String) async throws {
        var count = Self.batch
        while count == Self.batch {
            count = try await database.transaction { db in
                let sessions = try await SessionStore(db: db).lock(openedBy: key, of: application, limit: Self.batch)
                return try await end(sessions, in: db)
            }
        }
    }

    /// Ends some of the sessions of an application; true when there may be more.
    func endBatch(ofApplication application: String) async throws -> Bool {
        try await database.transaction { db in
            let sessions = try await SessionStore(db: db).lock(ofApplication: application, limit: Self.batch)
            return try await end(sessions, in: db)
        } == Self.batch
    }

    /// Forgets sessions whose time is over, some at a time; nobody can use them, so nobody needs to hear of it at once.
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
