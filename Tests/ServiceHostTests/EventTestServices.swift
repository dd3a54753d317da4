import Configuration
import Foundation
import Hummingbird
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Synchronization
import Wire

/// The event that a speaker said a word.
struct WordPublished: EventContent, Hashable {
    static let type = "word.said"
    var speaker: String
    var word: String
    var key: String { speaker }
}

/// An event that the subscriber does not know.
struct WordRetracted: EventContent {
    static let type = "word.takenback"
    var speaker: String
    var key: String { speaker }
}

/// A service that publishes the words it receives.
struct PublisherService: SuiteService {
    static let name = "teller"
    static let defaultPort = 0
    static let migrations = [EventOutbox.migration("V0001_create_event_outbox")]
    static let events: Set = [WordPublished.type, WordRetracted.type]

    struct PublishRequest: Codable {
        var words: [WordPublished]
        var retracted: [WordRetracted] = []
        /// Whether the transaction is rolled back.
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

/// A service that stores the words it receives.
struct SubscriberService: SuiteService {
    static let name = "listener"
    static let defaultPort = 0
    static let migrations = [
        EventConsumer.migration("V0001_create_event_inbox"),
        Migration(
            name: "V0002_received_words",
            sql: Array(
                """
                CREATE TABLE received_words (
                    place bigint GENERATED ALWAYS AS IDENTITY, speaker text NOT NULL, word text NOT NULL
                );
                CREATE TABLE refused_words (word text PRIMARY KEY)
                """.utf8
            )
        ),
    ]

    private let consumer: EventConsumer

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        consumer = EventConsumer(database: resources.database, logger: resources.logger, now: resources.now)
            .on(WordPublished.self, from: [.social]) { said, _, db in
                try await db.run("INSERT INTO received_words (speaker, word) VALUES (\(said.speaker), \(said.word))")
                // After the insert, so that it must be rolled back.
                let isRefusing = try await db.first("SELECT word FROM refused_words WHERE word = \(said.word)") { _ in
                    true
                }
                if isRefusing == true { throw RefusedError() }
            }
    }

    private struct RefusedError: Error {}

    func addRoutes(to routes: SuiteRoutes) { consumer.add(to: routes) }

    var background: [any Service] { [consumer.background] }
}
