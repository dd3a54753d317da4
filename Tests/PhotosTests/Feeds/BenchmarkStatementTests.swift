import Foundation
@testable import PhotosServer
import Postgres
import Synchronization
import TestSupport
import Testing
import Wire

/// The benchmark is meaningful only if it runs the statements of the service.
@Suite("Benchmark of home feeds") struct BenchmarkStatementTests {
    @Test("The benchmark's SQL contains the service's statements for the home feed")
    func homeFeedStatements() async throws {
        let (reader, last) = (
            Person.ID(1), FeedPosition(key: PostKey(author: Person.ID(2), number: 3), createdAt: .now)
        )
        let asked = Recorder()
        _ = try? await HomeFeedStore(db: asked).entries(of: reader, after: last, limit: 21)
        let store = PostStore(db: asked, links: MediaLinks(publicURL: "http://127.0.0.1"))
        _ = try? await store.summaries(of: [last.key], for: reader)

        let bench = try String(contentsOf: Self.file, encoding: .utf8)
        let words = Self.words(bench, literals: #/:\w+(?:::\w+(?:\[\])?)?|'[\d-]+'::timestamptz|\b\d{10,}\b|\b\d+\b/#)
        #expect(asked.statements.count == 2)
        for statement in asked.statements {
            #expect(words.contains(Self.words(statement, literals: #/\$\d+(?:::\w+(?:\[\])?)?/#)), "\(statement)")
        }
    }

    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "bench/sql/home.sql")

    /// Returns the statement with single spaces and a question mark for each value.
    private static func words(_ statement: String, literals: some RegexComponent) -> String {
        statement.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: " ")
            .replacing(literals, with: "?").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}

/// Records the statements and fails each of them.
private final class Recorder: PostgresExecutor {
    private let asked = Mutex<[String]>([])

    var statements: [String] { asked.withLock { $0 } }

    func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        asked.withLock { $0.append(query.sql) }
        throw TestSupportError("this executor has no database")
    }
}
