import Configuration
import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import ServiceHost
import Wire

/// A minimal service, for tests of what all services share.
struct EchoService: SuiteService {
    static let name = "echo"
    static let defaultPort = 0
    static let migrations = [
        Migration(name: "V0001_words", sql: Array("CREATE TABLE words (word text CONSTRAINT words_key UNIQUE)".utf8))
    ]

    struct Word: Codable, ResponseCodable {
        var word: String
    }

    /// Holds a lock that the handlers wait for before they store a response.
    static func hold(on db: PostgresTransaction) async throws {
        _ = try await db.one("SELECT pg_advisory_xact_lock(1, hashtext(current_schema()))", as: { _ in true })
    }

    private let resources: ServiceResources

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        self.resources = resources
    }

    func addRoutes(to routes: SuiteRoutes) {
        routes.open.get("open") { _, context in Word(word: context.identity?.user.user ?? "nobody") }
        routes.open.get("asked") { request, _ in
            Word(word: try request.query("word") ?? request.queries("words").joined())
        }
        routes.open.get("broken") { _, _ -> Word in throw CancellationError() }
        routes.open.get("endless") { _, _ in
            // One piece of the body, and then nothing for ten seconds.
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "once"))
                    try await Task.sleep(for: .seconds(10))
                }
            )
        }
        routes.user.get("words/{word}") { _, context in Word(word: try context.path("word")) }
        routes.user.get("words/fixed") { _, _ in Word(word: "fixed word") }
        routes.user.post("words") { request, context in
            let word = try await request.decode(as: Word.self, context: context)
            try await resources.database.run("INSERT INTO words (word) VALUES (\(word.word))")
            return word
        }
        // Stores a word with the response, and then fails.
        routes.user.post("words/kept") { request, context -> Word in
            let word = try await request.decode(as: Word.self, context: context)
            _ = try await resources.database.transaction { db in
                try await Self.hold(on: db)
                try await db.run("INSERT INTO words (word) VALUES (\(word.word))")
                return try await IdempotentRequest.keep(word, in: db)
            }
            throw CancellationError()
        }
        // Stores a word, with a response of more than 16 kB.
        routes.user.post("words/large") { request, context -> Word in
            let word = try await request.decode(as: Word.self, context: context)
            try await resources.database.run("INSERT INTO words (word) VALUES (\(word.word))")
            return Word(word: String(repeating: word.word, count: 20_000))
        }
        routes.user.post("words/large/named") { _, _ -> Word in
            let token = IdempotentRequest.current?.token.uuidString ?? ""
            try await resources.database.run("INSERT INTO words (word) VALUES (\(token)) ON CONFLICT DO NOTHING")
            return Word(word: String(repeating: "\(token)", count: 1_000))
        }
        routes.user.post("words/read") { _, _ -> Word in
            IdempotentRequest.markReadOnly()
            return Word(word: "read")
        }
        routes.user.post("words/named") { _, _ -> Word in
            let token = IdempotentRequest.current?.token.uuidString ?? ""
            let made = try await resources.database.run(
                "INSERT INTO words (word) VALUES (\(token)) ON CONFLICT DO NOTHING"
            )
            guard made == 0 else { throw CancellationError() }
            return Word(word: token)
        }
        routes.server.post("orders") { _, context in
            Word(word: "\(context.application)\(context.isAdmin ? " by an administrator" : "")")
        }
        routes.internalRoutes(from: [.push]).get("caller") { _, context in Word(word: context.caller) }
    }
}
