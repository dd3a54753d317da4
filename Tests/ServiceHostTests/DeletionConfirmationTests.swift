import Configuration
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import ServiceLifecycle
import TestSupport
import Testing
import Wire

/// A service's confirmation that no data of a user is left in it.
@Suite("Confirmation of deletions") struct DeletionConfirmationTests {
    @Test("A deletion is confirmed once the user's data is gone, and leaves no trace")
    func confirmsWhenNothingIsLeft() async throws {
        try await withInstance { instance, auth in
            try await instance.keep("Wilhelmina")
            try await instance.keep("Oswald")
            let (ada, bo) = (DeletionJob(id: UUID(), round: 1), DeletionJob(id: UUID(), round: 2))
            try await instance.deliver(TestUserDeleted(user: "Wilhelmina", deletionJob: ada))
            try await instance.deliver(TestUserDeleted(user: "Oswald", deletionJob: bo))
            try await instance.deleteData("Oswald")
            #expect(try await auth.answers(1) == [UserDeletionCompleted(deletionJob: bo, service: "wiper")])

            try await instance.deleteData("Wilhelmina")

            #expect(try await auth.answers(2).last == UserDeletionCompleted(deletionJob: ada, service: "wiper"))
            #expect(
                try await LeftoverData.inTables(containing: ["Wilhelmina", "Oswald"], instance.service.database.pool)
                    == []
            )
        }
    }

    @Test("The deletion of an unknown user is confirmed once per round")
    func unknownUser() async throws {
        try await withInstance { instance, auth in
            let deletionJob = DeletionJob(id: UUID(), round: 1)
            let id = try await instance.deliver(TestUserDeleted(user: "nobody", deletionJob: deletionJob))
            #expect(try await auth.answers(1).map(\.deletionJob) == [deletionJob])
            // The event is delivered again, which may happen.
            try await instance.deliver(TestUserDeleted(user: "nobody", deletionJob: deletionJob), id: id)
            let next = DeletionJob(id: deletionJob.id, round: 2)
            try await instance.deliver(TestUserDeleted(user: "nobody", deletionJob: next))
            #expect(try await auth.answers(2).map(\.deletionJob) == [deletionJob, next])
        }
    }

    /// An older release of auth does not wait for a confirmation.
    @Test("A deletion without a job is not confirmed")
    func noConfirmationWithoutJob() async throws {
        try await withInstance { instance, auth in
            try await instance.deliver(TestUserDeleted(user: "Wilhelmina", deletionJob: nil))
            let deletionJob = DeletionJob(id: UUID(), round: 1)
            try await instance.deliver(TestUserDeleted(user: "Oswald", deletionJob: deletionJob))
            #expect(try await auth.answers(1).map(\.deletionJob) == [deletionJob])
        }
    }

    @Test("The stored responses of a deleted user are deleted")
    func deletesIdempotencyKeys() async throws {
        try await withInstance { instance, _ in
            let pool = instance.service.database.pool
            for user in ["Wilhelmina", "Oswald"] {
                try await pool.run(
                    """
                    INSERT INTO idempotency_keys (application_id, user_id, key, fingerprint, begun_at)
                    VALUES ('roost', \(user), 'key', '\\x00', now())
                    """
                )
            }
            try await instance.deliver(TestUserDeleted(user: "Wilhelmina", deletionJob: nil))
            let left = try await pool.all("SELECT user_id FROM idempotency_keys") { try $0.string("user_id") }
            #expect(left == ["Oswald"])
        }
    }

    @Test("Two instances confirm each deletion once")
    func twoInstances() async throws {
        try await withInstance { instance, auth in
            try await TestService.with(
                DeletingService.self,
                over: instance.service.database,
                settings: DeletingInstance.settings,
                peers: .with(["auth": auth.client])
            ) { _ in
                let deletionJobs = (0..<150).map { _ in DeletionJob(id: UUID(), round: 1) }
                for deletionJob in deletionJobs {
                    try await instance.deliver(TestUserDeleted(user: "x", deletionJob: deletionJob))
                }
                let answered = try await auth.answers(150).map(\.deletionJob.id)
                #expect(Set(answered) == Set(deletionJobs.map(\.id)))
                #expect(answered.count == 150)
            }
        }
    }
}

extension DeletionConfirmationTests {
    @Test("All rows and stored responses of a deleted application are deleted, and those of another are kept")
    func application() async throws {
        try await withInstance { instance, auth in
            let pool = instance.service.database.pool
            for application in ["acme", "globex"] {
                try await pool.run(
                    "INSERT INTO things (application_id, thing) SELECT \(application), n FROM generate_series(1, 2500) AS n"
                )
                for user in ["ada", "bo"] {
                    try await pool.run(
                        """
                        INSERT INTO idempotency_keys (application_id, user_id, key, fingerprint, begun_at)
                        VALUES (\(application), \(user), 'key', '\\x00', now())
                        """
                    )
                }
            }
            let deletionJob = DeletionJob(id: UUID(), round: 1)

            try await instance.deliver(TestApplicationDeleted(application: "acme", deletionJob: deletionJob))

            #expect(try await auth.answers(1) == [UserDeletionCompleted(deletionJob: deletionJob, service: "wiper")])
            for (table, count) in [("things", 2_500), ("idempotency_keys", 2)] {
                let left = try await pool.all("SELECT application_id FROM \(identifier: table)") {
                    try $0.string("application_id")
                }
                #expect(left == Array(repeating: "globex", count: count), "\(table)")
            }
        }
    }
}

/// A stand-in for auth's event `user.deleted`, whose type these tests do not import.
private struct TestUserDeleted: EventContent {
    static let type = "test.user_deleted"
    var user: String
    var deletionJob: DeletionJob?
    var key: String { user }
}

/// A stand-in for auth's event `application.deleted`, whose type these tests do not import.
private struct TestApplicationDeleted: EventContent {
    static let type = "test.application_deleted"
    var application: String
    var deletionJob: DeletionJob
    var key: String { application }
}

/// A service that stores names until their users are deleted.
private struct DeletingService: SuiteService {
    static let name = "wiper"
    static let defaultPort = 0
    static let migrations = [
        EventOutbox.migration("V0001_create_event_outbox"), EventConsumer.migration("V0002_create_event_inbox"),
        DeletionConfirmations.migration("V0003_create_unconfirmed_deletions"),
        Migration(name: "V0004_create_names", sql: Array("CREATE TABLE names (name text PRIMARY KEY)".utf8)),
        Migration(name: "V0005_create_things", sql: Array("CREATE TABLE things (application_id text, thing int)".utf8)),
    ]
    static let events: Set = [UserDeletionCompleted.type]
    static let setAsideKinds: [SetAsideKind] = [.unconfirmedDeletion]

    private let deletionConfirmations: DeletionConfirmations
    private let consumer: EventConsumer

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let (database, logger) = (resources.database, resources.logger)
        let deletionConfirmations = DeletionConfirmations(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: resources.now,
            isGone: { unconfirmedDeletion in
                try await database.first(
                    "SELECT FROM names WHERE name = \(unconfirmedDeletion.user.user)",
                    as: { _ in true }
                )
                    == nil
            },
            deleteApplicationData: ApplicationRowDeletion(["things"], database: database).erase
        )
        self.deletionConfirmations = deletionConfirmations
        consumer = EventConsumer(database: database, logger: logger).on(TestUserDeleted.self, from: [.auth]) {
            deleted,
            event,
            db in
            let user = User.ID(application: "roost", user: deleted.user)
            try await deletionConfirmations.begin(user, deleted.deletionJob, at: event.at, in: db)
        }
        .on(TestApplicationDeleted.self, from: [.auth]) { deleted, event, db in
            try await deletionConfirmations.begin(
                application: deleted.application,
                deleted.deletionJob,
                at: event.at,
                in: db
            )
        }
    }

    func addRoutes(to routes: SuiteRoutes) { consumer.add(to: routes) }

    var background: [any Service] { [deletionConfirmations.background] }
}

private struct DeletingInstance: Sendable {
    static let settings = ["EVENT_SUBSCRIBERS": "user.deletion_completed=auth"]

    let service: TestService

    @discardableResult
    func deliver<Content: EventContent>(_ content: Content, id: UUID = UUID()) async throws -> UUID {
        let json = try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(content))
        let event = Event(id: id, type: Content.type, at: Date(), content: json)
        let client = try service.peerClient("auth", callee: "wiper")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
        return id
    }

    func keep(_ name: String) async throws {
        try await service.database.pool.run("INSERT INTO names (name) VALUES (\(name))")
    }

    func deleteData(_ name: String) async throws {
        try await service.database.pool.run("DELETE FROM names WHERE name = \(name)")
    }
}

/// A peer that serves auth's keys and records confirmations.
private struct RecordingAuth: Sendable {
    let recorder = EventRecorder(callee: "auth")
    let client: ServiceClient

    init() {
        let transport = AuthTransport(TestKeys()) { [recorder] request in try await recorder.send(request) }
        client = ServiceClient(callee: "auth", transport: transport, retry: .never)
    }

    func answers(_ count: Int) async throws -> [UserDeletionCompleted] {
        try await recorder.events(count).map { try $0.content() }
    }
}

private func withInstance(_ body: @Sendable (DeletingInstance, RecordingAuth) async throws -> Void) async throws {
    let auth = RecordingAuth()
    try await TestService.with(
        DeletingService.self,
        settings: DeletingInstance.settings,
        peers: .with(["auth": auth.client])
    ) { service in try await body(DeletingInstance(service: service), auth) }
}
