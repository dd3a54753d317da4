import Credentials
import Foundation
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// The deletion of customers' applications: keys and sign-in end at once, then the sessions, then all user data in
/// every service.
///
/// The application's row remains until the deletion is complete, so an interrupted deletion continues after a restart.
struct ApplicationDeletions: Sendable {
    /// The tables whose rows belong to an application and reference no other table.
    private static let tables = ["application_users", "spent_nonces", "push_credentials"]

    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let deletionJobs: DeletionJobs
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    /// Starts the deletion of an application; a deletion that has already started continues.
    func begin(_ application: String) async throws {
        let isNew = try await database.transaction { db in
            let store = ApplicationStore(db: db)
            guard try await store.beginDeletion(of: application, at: now()) else { return false }
            // A sign-in locks its key until the commit, and later sign-ins find the key revoked.
            for key in try await store.revokeAllKeys(of: application, at: now()) {
                guard let applicationKey = ApplicationKey(application: application, id: key) else { continue }
                sessionRevocations.announce(
                    [try await RevocationStore(db: db).insert(applicationKey.session, at: now())],
                    after: db
                )
            }
            try await deletionJobs.begin(application: application, in: db)
            return true
        }
        guard isNew else { return }
        logger.notice("application deletion started", metadata: ["application": "\(application)"])
        // The background task ends the remaining sessions within a second.
        _ = try await sessionRevocations.endBatch(ofApplication: application)
    }

    /// Advances every pending deletion once; a deletion that fails does not delay others.
    func clear() async throws {
        var last = ""
        while let application = try await ApplicationStore(db: database).nextDeleted(after: last, at: now()) {
            last = application
            try await setAside.each([application], of: .deletedApplication, key: { [$0] }, clear)
        }
    }

    private func clear(_ application: String) async throws {
        while try await sessionRevocations.endBatch(ofApplication: application) {}
        guard try await ApplicationRowDeletion(Self.tables, database: database).erase(application),
            try await !DeletionJobStore(db: database).isPending(application)
        else { return }
        try await database.transaction { db in try await ApplicationStore(db: db).delete(application) }
        logger.notice("application deleted", metadata: ["application": "\(application)"])
    }

    var background: any Service {
        PeriodicTask("deletion of applications", every: .seconds(1), logger: logger, clear)
    }
}
