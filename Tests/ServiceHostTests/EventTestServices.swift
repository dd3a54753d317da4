import Configuration
import Foundation
import Hummingbird
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Synchronization
import Wire

/// That somebody said something.
struct WordPublished: EventContent, Hashable {
    static let type = "word.said"
    var speaker: String
    var word: String
    var key: String { speaker }
}

/// What the listener does not know of.
struct WordRetracted: EventContent {
    static let type = "word.takenback"
    var speaker: String
    var key: String { speaker }
}

/// A service that tells what is said to it.
struct PublisherService: SuiteService {
    static let name = "teller"
    static let defaultPort = 0
    static let migrations = [EventOutbox.migration("V0001_create_event_outbox")]
    static let events: Set = [WordPublished.type, WordRetracted.type]

    struct PublishRequest: Codable {
        var words: [WordPublished]
        var retracted: [WordRetracted] = []
        /// Whether it is thought better of.
        var isRolledBack = false
    }

    private let resources: ServiceResources

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        self.resources = resources
    }

    func addRoutes(to routes: SuiteRoutes) {
        routes.open.post("speech") { request, context in
            let publishRequest = try await request.decode(as: PublishRequest.self, context: context)
            try await resources.database.transaction { db in
                try await resources.events.write(publishRequest.words, in: db)
                try await resources.events.write(publishRequest.retracted, in: db)
                if publishRequest.isRolledBack { throw APIError(.conflict, "rolled_back", "not said") }
            }
            return JSONResponse(["said": publishRequest.words.count])
        }
    }
}

/// A service that writes down what it hears of.
struct SubscriberService: SuiteService {
    static let name = "listener"
    static let defaultPort = 0
    static let migrations = [
        EventConsumer.migration("V0001_create_event_inbox"),
        Migration(
            name: "V0002_heard",
            sql: Array(
                """
                CREATE TABLE heard (
                    place bigint GENERATED ALWAYS AS IDENTITY, speaker text NOT NULL, word text NOT NULL
                );
                CREATE TABLE deaf_to (word text PRIMARY KEY)
                """.utf8
            )
        ),
    ]

    private let consumer: EventConsumer

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        consumer = EventConsumer(database: resources.database, logger: resources.logger, now: resources.now)
            .on(WordPublished.self, from: [.social]) { said, _, db in
                try await db.run("INSERT INTO heard (speaker, word) VALUES (\(said.speaker), \(said.word))")
                // After the act, so that it must be undone.
                let isRefusing = try await db.first("SELECT word FROM deaf_to WHERE word = \(said.word)") { _ in true }
                if isRefusing == true { throw RefusedError() }
            }
    }

    private struct RefusedError: Error {}

    func addRoutes(to routes: SuiteRoutes) { consumer.add(to: routes) }

    var background: [any Service] { [consumer.background] }
}
