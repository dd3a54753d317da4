import Foundation
import Postgres
import Testing
import Wire

@testable import ConversationsServer

@Suite("Benchmark SQL") struct BenchmarkTests {
    /// The comparison is meaningful only if pgbench runs the service's statements.
    @Test("The pgbench script contains the statements of a write shard")
    func sameStatements() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../bench/sql/send-segment.sql"
        )
        let script = Self.plain(try String(contentsOf: file, encoding: .utf8))
        let token = ConversationToken(id: .init(1), secret: ConversationToken.newSecret())
        let segment = [BatchWriter.lock([token.id]), BatchWriter.insert([.plain(in: token)])]

        for statement in segment {
            // Parameters match anything, because pgbench has its own values.
            let pattern = NSRegularExpression.escapedPattern(for: Self.plain(statement.sql))
                .replacing(/\\\$[0-9]+/, with: ".+?")
            #expect(script.range(of: pattern + ";", options: .regularExpression) != nil, "\(statement.sql)")
        }
    }

    /// Returns the text with each run of white space replaced by one space.
    private static func plain(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
