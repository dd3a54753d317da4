import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The recording of security events of accounts, which the owner and the operator can read.
///
/// An event is recorded in the transaction of the change. Users of customers' applications have no events here, because
/// their accounts belong to the customer's account server.
struct Audit: Sendable {
    let events: EventOutbox
    let emailOutbox: EmailOutbox
    let now: @Sendable () -> Date

    /// Records an event of an account.
    ///
    /// Without an account, the same statements run and record nothing, so that response times do not reveal which
    /// accounts exist.
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

    /// Records an event that the owner caused in a session.
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

    /// Records a sign-in.
    ///
    /// If the user has signed in before and the device is new, the user's other devices receive an event and the owner
    /// an email.
    func record(
        signIn session: SessionStore.Record,
        of account: UUID,
        by caller: ClientInfo,
        in db: any PostgresExecutor
    )
        async throws
    {
        let store = AuditStore(db: db)
        let history = try await store.deviceHistory(
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
        guard history.hasSignedInBefore, !history.isDeviceKnown else { return }
        try await events.write(NewDeviceSignIn(session), in: db)
        // The outbox worker is not notified here: it finds the email within a second of the commit.
        try await emailOutbox.sendNotice(.newDeviceSignIn, toOwnerOf: account, in: db)
    }

    /// Records the end of sessions; sessions of customers' applications are skipped.
    func record(_ kind: SecurityEvent.Kind, ended: [RevocationStore.Ended], in db: any PostgresExecutor) async throws {
        let own = ended.compactMap { end in end.user.accountID.map { (id: end.record.session, account: $0) } }
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
