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

/// The answer of a service that nothing is left in it of somebody.
@Suite struct ErasureTests {
    @Test func itIsGivenOnceNothingIsLeft() async throws {
        try await withWiper { wiper, auth in
            try await wiper.keep("Wilhelmina")
            try await wiper.keep("Oswald")
            let (ada, bo) = (Departure(id: UUID(), round: 1), Departure(id: UUID(), round: 2))
            try await wiper.tell(PersonLeft(user: "Wilhelmina", departure: ada))
            try await wiper.tell(PersonLeft(user: "Oswald", departure: bo))
            try await wiper.wipe("Oswald")
            #expect(try await auth.answers(1) == [UserErased(departure: bo, service: "wiper")])

            try await wiper.wipe("Wilhelmina")

            #expect(try await auth.answers(2).last == UserErased(departure: ada, service: "wiper"))
            #expect(try await Traces.inTables(naming: ["Wilhelmina", "Oswald"], wiper.service.database.pool) == [])
        }
    }

    @Test func whoIsNotHereIsAnsweredForAtOnce() async throws {
        try await withWiper { wiper, auth in
            let departure = Departure(id: UUID(), round: 1)
            let id = try await wiper.tell(PersonLeft(user: "nobody", departure: departure))
            #expect(try await auth.answers(1).map(\.departure) == [departure])
            // The event comes once more, as events may.
            try await wiper.tell(PersonLeft(user: "nobody", departure: departure), id: id)
            let next = Departure(id: departure.id, round: 2)
            try await wiper.tell(PersonLeft(user: "nobody", departure: next))
            #expect(try await auth.answers(2).map(\.departure) == [departure, next])
        }
    }

    /// Auth of an older release waits for none.
    @Test func whereNobodyAsksForItThereIsNone() async throws {
        try await withWiper { wiper, auth in
            try await wiper.tell(PersonLeft(user: "Wilhelmina", departure: nil))
            let departure = Departure(id: UUID(), round: 1)
            try await wiper.tell(PersonLeft(user: "Oswald", departure: departure))
            #expect(try await auth.answers(1).map(\.departure) == [departure])
        }
    }

    @Test func whatHeWasAnsweredGoesWithHim() async throws {
        try await withWiper { wiper, _ in
            let pool = wiper.service.database.pool
            for user in ["Wilhelmina", "Oswald"] {
                try await pool.run(
                    """
                    INSERT INTO idempotency_keys (application_id, user_id, key, fingerprint, begun_at)
                    VALUES ('roost', \(user), 'key', '\\x00', now())
                    """
                )
            }
            try await wiper.tell(PersonLeft(user: "Wilhelmina", departure: nil))
            let left = try await pool.all("SELECT user_id FROM idempotency_keys") { try $0.string("user_id") }
            #expect(left == ["Oswald"])
        }
    }

    @Test func ofManyEachIsAnsweredForOnceByTwoInstances() async throws {
        try await withWiper { wiper, auth in
            try await TestService.with(
                WipingService.self,
                over: wiper.service.database,
                settings: Wiper.settings,
                neighbours: .with(["auth": auth.client])
            ) { _ in
                let departures = (0..<150).map { _ in Departure(id: UUID(), round: 1) }
                for departure in departures { try await wiper.tell(PersonLeft(user: "x", departure: departure)) }
                let answered = try await auth.answers(150).map(\.departure.id)
                #expect(Set(answered) == Set(departures.map(\.id)) && answered.count == 150)
            }
        }
    }
}

extension ErasureTests {
    @Test("Of a deleted application all rows and stored responses go, and of another none")
    func application() async throws {
        try await withWiper { wiper, auth in
            let pool = wiper.service.database.pool
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
            let departure = Departure(id: UUID(), round: 1)

            try await wiper.tell(PlaceLeft(application: "acme", departure: departure))

            #expect(try await auth.answers(1) == [UserErased(departure: departure, service: "wiper")])
            for (table, count) in [("things", 2_500), ("idempotency_keys", 2)] {
                let left = try await pool.all("SELECT application_id FROM \(identifier: table)") {
                    try $0.string("application_id")
                }
                #expect(left == Array(repeating: "globex", count: count), "\(table)")
            }
        }
    }
}

/// That somebody is no user any more, as a service without accounts would say it.
private struct PersonLeft: EventContent {
    static let type = "person.left"
    var user: String
    var departure: Departure?
    var key: String { user }
}

/// That an application was deleted, as a service without accounts would say it.
private struct PlaceLeft: EventContent {
    static let type = "place.left"
    var application: String
    var departure: Departure
    var key: String { application }
}

/// A service that keeps names, until it is told to wipe them.
private struct WipingService: SuiteService {
    static let name = "wiper"
    static let defaultPort = 0
    static let migrations = [
        EventOutbox.migration("V0001_create_event_outbox"), EventConsumer.migration("V0002_create_event_inbox"),
        Erasures.migration("V0003_create_erasures"),
        Migration(name: "V0004_create_names", sql: Array("CREATE TABLE names (name text PRIMARY KEY)".utf8)),
        Migration(name: "V0005_create_things", sql: Array("CREATE TABLE things (application_id text, thing int)".utf8)),
    ]
    static let events: Set = [UserErased.type]
    static let setAsideKinds: [SetAsideKind] = [.erasure]

    private let erasures: Erasures
    private let consumer: EventConsumer

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let (database, logger) = (resources.database, resources.logger)
        let erasures = Erasures(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: resources.now,
            isGone: { erasure in
                try await database.first("SELECT FROM names WHERE name = \(erasure.user.user)", as: { _ in true })
                    == nil
            },
            eraseApplication: ApplicationRows(["things"], database: database).erase
        )
        self.erasures = erasures
        consumer = EventConsumer(database: database, logger: logger).on(PersonLeft.self, from: [.auth]) {
            left,
            event,
            db in
            let user = User.ID(application: "roost", user: left.user)
            try await erasures.begin(user, left.departure, at: event.at, in: db)
        }
        .on(PlaceLeft.self, from: [.auth]) { left, event, db in
            try await erasures.begin(application: left.application, left.departure, at: event.at, in: db)
        }
    }

    func addRoutes(to routes: SuiteRoutes) { consumer.add(to: routes) }

    var background: [any Service] { [erasures.background] }
}

private struct Wiper: Sendable {
    static let settings = ["EVENT_SUBSCRIBERS": "user.deletion_completed=auth"]

    let service: TestService

    @discardableResult
    func tell<Content: EventContent>(_ left: Content, id: UUID = UUID()) async throws -> UUID {
        let content = try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(left))
        let event = Event(id: id, type: Content.type, at: Date(), content: content)
        let client = try service.neighbour("auth", callee: "wiper")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
        return id
    }

    func keep(_ name: String) async throws {
        try await service.database.pool.run("INSERT INTO names (name) VALUES (\(name))")
    }

    func wipe(_ name: String) async throws {
        try await service.database.pool.run("DELETE FROM names WHERE name = \(name)")
    }
}

/// Auth, as far as it gives keys and hears answers.
private struct Hearing: Sendable {
    let recorder = EventRecorder(callee: "auth")
    let client: ServiceClient

    init() {
        let transport = AuthTransport(TestKeys()) { [recorder] request in try await recorder.send(request) }
        client = ServiceClient(callee: "auth", transport: transport, retry: .never)
    }

    func answers(_ count: Int) async throws -> [UserErased] {
        try await recorder.events(count).map { try $0.content() }
    }
}

private func withWiper(_ body: @Sendable (Wiper, Hearing) async throws -> Void) async throws {
    let auth = Hearing()
    try await TestService.with(
        WipingService.self,
        settings: Wiper.settings,
        neighbours: .with(["auth": auth.client])
    ) { service in try await body(Wiper(service: service), auth) }
}
