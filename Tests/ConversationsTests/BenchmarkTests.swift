import Foundation
import Postgres
import Testing
import Wire

@testable import ConversationsServer

/// What the benchmark sets beside the lanes.
@Suite struct BenchmarkTests {
    /// pgbench must run the statements of the service, or the comparison says nothing.
    @Test func sameStatements() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../bench/sql/send-segment.sql"
        )
        let script = Self.plain(try String(contentsOf: file, encoding: .utf8))
        let token = ConversationToken(id: .init(1), secret: ConversationToken.newSecret())
        let segment = [BatchWriter.lock([token.id]), BatchWriter.insert([.plain(in: token)])]

        for statement in segment {
            // As it stands but for its parameters, for which pgbench has values of its own.
            let pattern = NSRegularExpression.escapedPattern(for: Self.plain(statement.sql))
                .replacing(/\\\$[0-9]+/, with: ".+?")
            #expect(script.range(of: pattern + ";", options: .regularExpression) != nil, "\(statement.sql)")
        }
    }

    /// Every white space is one blank.
    private static func plain(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
