import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// What is noted of what happens to accounts, and who may read it: the owner, and the operator.
///
/// It is noted in the transaction that makes it so. A customer's people have their account elsewhere, and their account server
/// knows what happens to it.
struct Audit: Sendable {
    let events: EventOutbox
    let emailOutbox: EmailOutbox
    let now: @Sendable () -> Date

    /// Notes something of an account; of none, the same is done and nothing noted, so that nobody tells the two apart.
    func record(
        _ kind: SecurityEvent.Kind,
        of account: UUID?,
        by caller: ClientInfo? = nil,
        session: UUID? = nil,
        detail: String? = nil,
        in db: any PostgresExecutor
    ) async throws {
        let entry = AuditStore.Entry(
            kind: kind,
            at: now(),
            session: session,
            userAgent: caller?.userAgent,
            address: caller?.address?.description,
            detail: detail
        )
        try await AuditStore(db: db).insert(entry, of: account)
    }

    /// Notes what its owner has done to an account, in a session of his.
    func record(
        _ kind: SecurityEvent.Kind,
        by identity: Identity,
        from caller: ClientInfo,
        detail: String? = nil,
        in db: any PostgresExecutor
    ) async throws {
        let session = UUID(uuidString: identity.session)
        try await record(kind, of: identity.user.accountID, by: caller, session: session, detail: detail, in: db)
    }

    /// Notes that a session was opened; on a device that is new to somebody who has others, these are told, and he by mail.
    func record(
        signIn session: SessionStore.Record,
        of account: UUID,
        by caller: ClientInfo,
        in db: any PostgresExecutor
    )
        async throws
    {
        let store = AuditStore(db: db)
        let known = try await store.deviceHistory(
            of: account,
            deviceID: session.deviceID,
            userAgent: session.userAgent
        )
        let entry = AuditStore.Entry(
            kind: .signedIn,
            at: session.createdAt,
            session: session.id,
            deviceID: session.deviceID,
            userAgent: session.userAgent,
            address: caller.address?.description
        )
        try await store.insert(entry, of: account)
        guard known.hasSignedInBefore, !known.isDeviceKnown else { return }
        try await events.write(NewDeviceSignIn(session), in: db)
        // Nobody rings: a mail that waits is found within a second of the commit.
        try await emailOutbox.sendNotice(.newDeviceSignIn, toOwnerOf: account, in: db)
    }

    /// Notes that sessions have ended, whosever they were.
    func record(_ kind: SecurityEvent.Kind, ended: [RevocationStore.Ended], in db: any PostgresExecutor) async throws {
        let own = ended.compactMap { one in one.user.accountID.map { (id: one.record.session, account: $0) } }
        try await AuditStore(db: db).insert(kind, ofSessions: own, at: now())
    }
}

extension NewDeviceSignIn {
    fileprivate init(_ session: SessionStore.Record) {
        self.init(
            applicationId: session.user.application,
            userId: session.user.user,
            sessionId: session.id.wire,
            deviceId: session.deviceID,
            userAgent: session.userAgent,
            at: session.createdAt
        )
    }
}
