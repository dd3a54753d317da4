package import Foundation
package import Logging
package import Postgres
package import ServiceLifecycle
package import Wire

/// Answers `user.deleted` once nothing of that person is left here.
///
/// A service wipes somebody as it likes, in the transaction that takes the event or behind it. That it was asked is noted in
/// that same transaction; when it finds nothing left, the answer is written to its outbox and the note goes.
package struct DeletionConfirmations: Sendable {
    /// How many are looked at in one statement.
    private static let batch = 100

    private let service: String
    private let database: PostgresPool
    private let events: EventOutbox
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let isGone: @Sendable (UnconfirmedDeletion) async throws -> Bool
    private let deleteApplicationData: @Sendable (_ application: String) async throws -> Bool

    /// The answers of one service.
    ///
    /// - Parameters:
    ///   - service: its name, which the answer says.
    ///   - database: where it keeps what it was asked.
    ///   - events: where its answers go.
    ///   - setAside: takes an erasure that fails out of the way of the others.
    ///   - logger: hears of rounds that fail.
    ///   - now: the service's clock.
    ///   - isGone: whether there is nothing left; asked about once a second, and it may wipe some more itself. A service that
    ///     wipes all in the transaction that takes the event has nothing to look for.
    ///   - eraseApplication: deletes a bounded number of rows of a deleted application, and returns true when none is left;
    ///     called once a second until then.
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

    /// The table, for a service that keeps something of people; `name` is its place among the service's own migrations.
    package static func migration(_ name: String) -> Migration {
        Migration(name: name, sql: PackageResources.unconfirmed_deletions_sql)
    }

    /// Notes, in the transaction that takes the event, that an answer is waited for; without a `deletionJob` none is.
    ///
    /// The answers that he was given to requests with an `Idempotency-Key` go here and now, in every service alike.
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

    /// Records, in the transaction that takes the event, that all data of an application is to be deleted.
    package func begin(
        application: String,
        _ deletionJob: DeletionJob,
        at moment: Date,
        in db: PostgresTransaction
    ) async throws {
        let everyUser = User.ID(application: application, user: UnconfirmedDeletion.everyUser)
        try await UnconfirmedDeletionStore(db: db).insert(deletionJob, everyUser, number: nil, at: moment)
    }

    /// Checks every erasure once, and answers those that are complete; an erasure that fails delays no other.
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
        // The service's own rows first: a request that is still running may store its response until its session ends.
        guard try await deleteApplicationData(application) else { return false }
        return try await responses.erase(application)
    }

    private func confirmCompleted(_ unconfirmedDeletion: UnconfirmedDeletion) async throws {
        try await database.transaction { db in
            // Another instance may have answered meanwhile.
            guard try await UnconfirmedDeletionStore(db: db).delete(unconfirmedDeletion) else { return }
            try await events.write(
                UserDeletionCompleted(deletionJob: unconfirmedDeletion.deletionJob, service: service),
                in: db
            )
        }
    }

    package var background: any Service {
        PeriodicTask("answers about deleted people", every: .seconds(1), logger: logger, confirmCompleted)
    }
}

/// Somebody of whom nothing is to be left here.
package struct UnconfirmedDeletion: Sendable {
    /// Stands for all users of an application; no user has this id, since an id has at least one character.
    static let everyUser = ""

    let id: Int64
    package let deletionJob: DeletionJob
    package let user: User.ID
    /// The number that he went by here, where he had one.
    package let number: Int64?

    /// Whether the application itself was deleted, with all its users.
    var isApplicationDeletion: Bool { user.user == Self.everyUser }
}

/// The table `unconfirmed_deletions`, and of `idempotency_keys` what goes with a person.
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
            SELECT unconfirmed_deletion_id, deletion_job_id, round, application_id, user_id, user_number FROM unconfirmed_deletions
            WHERE unconfirmed_deletion_id > \(id) AND \(isDue: .unconfirmedDeletion, at: now) ORDER BY unconfirmed_deletion_id LIMIT \(limit)
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

    /// False if it is not there any more.
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
    /// A user whose data is to be erased.
    package static let unconfirmedDeletion = SetAsideKind(
        "unconfirmed_deletion",
        table: "unconfirmed_deletions",
        key: ["unconfirmed_deletion_id": "bigint"]
    )
}
