import Credentials
import Foundation
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// The deletion of customers' applications: keys and sign-in end at once, then the sessions, then the data of all users in
/// every service.
///
/// The row of the application stays until all of that is done, so an interrupted deletion continues after a restart.
struct ApplicationDeletions: Sendable {
    /// The tables with rows of applications that refer to nothing but the application.
    private static let tables = ["application_users", "spent_nonces", "push_credentials"]

    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let deletionJobs: DeletionJobs
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    /// Begins the deletion of an application; one that has begun already goes on.
    func begin(_ application: String) async throws {
        let isNew = try await database.transaction { db in
            let store = ApplicationStore(db: db)
            guard try await store.beginDeletion(of: application, at: now()) else { return false }
            // A sign-in holds its key until it is committed, and later ones find the key revoked.
            for key in try await store.revokeAllKeys(of: application, at: now()) {
                guard let known = ApplicationKey(application: application, id: key) else { continue }
                sessionRevocations.announce(
                    [try await RevocationStore(db: db).insert(known.session, at: now())],
                    after: db
                )
            }
            try await deletionJobs.begin(application: application, in: db)
            return true
        }
        guard isNew else { return }
        logger.notice("application deletion begun", metadata: ["application": "\(application)"])
        // The rest, if there are more sessions, ends within a second.
        _ = try await sessionRevocations.endBatch(ofApplication: application)
    }

    /// Continues all deletions once; one that fails delays no other.
    func clear() async throws {
        var last = ""
        while let application = try await ApplicationStore(db: database).nextDeleted(behind: last, at: now()) {
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
