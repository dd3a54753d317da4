package import Foundation
package import Logging
package import Postgres
package import ServiceLifecycle
package import Wire

/// The confirmations that a service has deleted all data of a user, published as responses to `user.deleted`.
///
/// A service may delete the data in the transaction that processes the event, or later. In the first case, the same
/// transaction records the pending confirmation. When no data is left, the service publishes the confirmation and
/// deletes the record.
package struct DeletionConfirmations: Sendable {
    /// The number of pending confirmations that one statement reads.
    private static let batch = 100

    private let service: String
    private let database: PostgresPool
    private let events: EventOutbox
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let isGone: @Sendable (UnconfirmedDeletion) async throws -> Bool
    private let deleteApplicationData: @Sendable (_ application: String) async throws -> Bool

    /// Creates the confirmations of a service.
    ///
    /// - Parameters:
    ///   - service: the service's name, which the confirmation contains.
    ///   - database: the service's database.
    ///   - events: the outbox for confirmations.
    ///   - setAside: receives deletions that fail, so that they do not delay others.
    ///   - logger: receives failures.
    ///   - now: the service's clock.
    ///   - isGone: returns whether no data is left. It is called about once a second and may delete further data
    ///     itself. The default is for services that delete everything in the transaction of the event.
    ///   - deleteApplicationData: deletes a bounded number of rows of a deleted application, and returns true when none
    ///     is left. It is called once a second until then.
    package init(
        of service: String,
        database: PostgresPool,
        events: EventOutbox,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date,
        isGone: @escaping @Sendable (UnconfirmedDeletion) async throws -> Bool = { _ in true },
        deleteApplicationData: @escaping @Sendable (_ application: String) async throws -> Bool
    ) {
        self.service = service
        self.database = database
        self.events = events
        self.setAside = setAside
        self.logger = logger
        self.now = now
        self.isGone = isGone
        self.deleteApplicationData = deleteApplicationData
    }

    /// Returns the migration that creates the table; `name` orders it among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.unconfirmed_deletions_sql)
    }

    /// Records a pending confirmation in the transaction that processes the event; without a `deletionJob` none is
    /// expected.
    ///
    /// Also deletes the user's stored responses to requests with an `Idempotency-Key`, in every service.
    ///
    /// - Parameters:
    ///   - user: the deleted user.
    ///   - deletionJob: the deletion job and its pass; nil if no confirmation is expected.
    ///   - number: the user's number in this service, if any.
    ///   - moment: the time of the event.
    ///   - db: the transaction that processes the event.
    /// - Throws: a `PostgresError`.
    package func begin(
        _ user: User.ID,
        _ deletionJob: DeletionJob?,
        number: Int64? = nil,
        at moment: Date,
        in db: PostgresTransaction
    ) async throws {
        let store = UnconfirmedDeletionStore(db: db)
        try await store.deleteIdempotencyKeys(to: user)
        guard let deletionJob else { return }
        try await store.insert(deletionJob, user, number: number, at: moment)
    }

    /// Records, in the transaction that processes the event, that all data of an application is to be deleted.
    package func begin(
        application: String,
        _ deletionJob: DeletionJob,
        at moment: Date,
        in db: PostgresTransaction
    ) async throws {
        let everyUser = User.ID(application: application, user: UnconfirmedDeletion.everyUser)
        try await UnconfirmedDeletionStore(db: db).insert(deletionJob, everyUser, number: nil, at: moment)
    }

    /// Checks each pending deletion once and confirms the completed ones; a deletion that fails does not delay others.
    package func confirmCompleted() async throws {
        var last: Int64 = 0
        while true {
            let page = try await UnconfirmedDeletionStore(db: database).list(after: last, at: now(), limit: Self.batch)
            try await setAside.each(page, of: .unconfirmedDeletion, key: { ["\($0.id)"] }) { unconfirmedDeletion in
                if try await isComplete(unconfirmedDeletion) { try await confirmCompleted(unconfirmedDeletion) }
            }
            guard page.count == Self.batch, let end = page.last else { return }
            last = end.id
        }
    }

    private func isComplete(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        guard unconfirmedDeletion.isApplicationDeletion else { return try await isGone(unconfirmedDeletion) }
        let application = unconfirmedDeletion.user.application
        let responses = ApplicationRowDeletion(["idempotency_keys"], database: database)
        // The service's rows first: a request that is still running may store its response until its session ends.
        guard try await deleteApplicationData(application) else { return false }
        return try await responses.erase(application)
    }

    private func confirmCompleted(_ unconfirmedDeletion: UnconfirmedDeletion) async throws {
        try await database.transaction { db in
            // Another instance may have confirmed it meanwhile.
            guard try await UnconfirmedDeletionStore(db: db).delete(unconfirmedDeletion) else { return }
            try await events.write(
                UserDeletionCompleted(deletionJob: unconfirmedDeletion.deletionJob, service: service),
                in: db
            )
        }
    }

    package var background: any Service {
        PeriodicTask("deletion confirmations", every: .seconds(1), logger: logger, confirmCompleted)
    }
}

/// A user or application whose data this service is deleting.
package struct UnconfirmedDeletion: Sendable {
    /// The user id that stands for all users of an application; real ids have at least one character.
    static let everyUser = ""

    let id: Int64
    package let deletionJob: DeletionJob
    package let user: User.ID
    /// The user's number in this service, if any.
    package let number: Int64?

    /// Whether the whole application was deleted.
    var isApplicationDeletion: Bool { user.user == Self.everyUser }
}

/// The table `unconfirmed_deletions`, and the rows of `idempotency_keys` that belong to a user.
struct UnconfirmedDeletionStore {
    let db: any PostgresExecutor

    func insert(_ deletionJob: DeletionJob, _ user: User.ID, number: Int64?, at moment: Date) async throws {
        try await db.run(
            """
            INSERT INTO unconfirmed_deletions (deletion_job_id, round, application_id, user_id, user_number, begun_at)
            VALUES (
                \(deletionJob.id), \(deletionJob.round), \(user.application), \(user.user), \(number), \(moment)
            )
            ON CONFLICT ON CONSTRAINT unconfirmed_deletions_round_key DO NOTHING
            """
        )
    }

    func list(after id: Int64, at now: Date, limit: Int) async throws -> [UnconfirmedDeletion] {
        try await db.all(
            """
            SELECT unconfirmed_deletion_id, deletion_job_id, round, application_id, user_id, user_number
            FROM unconfirmed_deletions
            WHERE unconfirmed_deletion_id > \(id) AND \(isDue: .unconfirmedDeletion, at: now)
            ORDER BY unconfirmed_deletion_id
            LIMIT \(limit)
            """
        ) { row in
            UnconfirmedDeletion(
                id: try row.int64("unconfirmed_deletion_id"),
                deletionJob: DeletionJob(id: try row.uuid("deletion_job_id"), round: try row.int("round")),
                user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
                number: try row.decode("user_number")
            )
        }
    }

    /// Deletes a record; returns false if it was already deleted.
    func delete(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        try await db.run("DELETE FROM unconfirmed_deletions WHERE unconfirmed_deletion_id = \(unconfirmedDeletion.id)")
            == 1
    }

    func deleteIdempotencyKeys(to user: User.ID) async throws {
        try await db.run(
            "DELETE FROM idempotency_keys WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

extension SetAsideKind {
    /// A user or application whose data is being deleted.
    package static let unconfirmedDeletion = SetAsideKind(
        "unconfirmed_deletion",
        table: "unconfirmed_deletions",
        key: ["unconfirmed_deletion_id": "bigint"]
    )
}
