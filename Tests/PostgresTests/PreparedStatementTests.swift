import Postgres
import Testing

struct PreparedStatementTests {
    /// Names and texts of what is prepared on the connection that answers.
    private func prepared(_ db: some PostgresExecutor) async throws -> [String] {
        try await db.all("SELECT statement FROM pg_prepared_statements ORDER BY name") { try $0.string("statement") }
    }

    @Test func aStatementIsPreparedOnceAndUsedAgain() async throws {
        try await withScene({ $0.readConnections = 1 }) { scene in
            for number in 0..<10 { try await scene.pool.reads.run("SELECT \(number)") }

            let statements = try await prepared(scene.pool.reads)
            #expect(statements.count { $0 == "SELECT $1" } == 1)
        }
    }

    @Test func onlyTheMostRecentStatementsAreKept() async throws {
        try await withScene({
            $0.readConnections = 1
            $0.preparedStatements = 4
        }) { scene in
            for number in 0..<50 { try await scene.pool.reads.run("SELECT \(unsafe: String(number))") }
            for number in 0..<50 {
                let answer = try await scene.pool.reads.one("SELECT \(unsafe: String(number)) AS it") {
                    try $0.int("it")
                }
                #expect(answer == number)
            }

            let statements = try await prepared(scene.pool.reads)
            #expect(statements.count <= 5)
            #expect(statements.contains("SELECT 49 AS it"))
        }
    }

    @Test func statementsAreDroppedInTransactionsToo() async throws {
        try await withScene({
            $0.transactionConnections = 1
            $0.preparedStatements = 4
        }) { scene in
            for round in 0..<5 {
                _ = try? await scene.pool.transaction { db in
                    for number in 0..<10 { try await db.run("SELECT \(unsafe: String(number + 10 * round))") }
                    try await db.run("SELECT 1 / 0")
                }
            }
            try await scene.pool.run("SELECT 1")

            try await #expect(prepared(scene.pool).count <= 6)
        }
    }

    @Test func aStatementThatCannotBePreparedFailsForAllWhoSentIt() async throws {
        try await withScene { scene in
            let states = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        do {
                            try await scene.pool.reads.run("SELEKT 1")
                            return nil
                        } catch {
                            return (error as? PostgresError)?.sqlState
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }

            #expect(states == Array(repeating: "42601", count: 50))
            try await #expect(scene.pool.reads.one("SELECT 1 AS it") { try $0.int("it") } == 1)
        }
    }

    @Test func aChangedTableIsReadAgain() async throws {
        try await withScene { scene in
            try await scene.pool.run("CREATE TABLE things (id int8)")
            try await scene.pool.run("INSERT INTO things VALUES (1)")
            let read: PostgresQuery = "SELECT * FROM things"
            for _ in 0..<8 { try await scene.pool.reads.run(read) }
            _ = try await scene.pool.execute(read)
            try await scene.pool.transaction { _ = try await $0.execute(read) }
            let lane = scene.pool.lane()
            _ = try await lane.segment([read])

            try await scene.pool.run("ALTER TABLE things ADD COLUMN name text")

            for _ in 0..<8 { try await #expect(scene.pool.reads.execute(read).columnNames == ["id", "name"]) }
            try await #expect(scene.pool.execute(read).columnNames == ["id", "name"])
            try await #expect(scene.pool.transaction { try await $0.execute(read).columnNames } == ["id", "name"])
            try await #expect(lane.segment([read])[0].columnNames == ["id", "name"])
        }
    }

    @Test func statementsDroppedBehindOurBackAreMadeAgain() async throws {
        try await withScene({ $0.transactionConnections = 1 }) { scene in
            for _ in 0..<3 { try await scene.pool.run("SELECT 1") }
            try await scene.pool.run("DEALLOCATE ALL")

            try await #expect(scene.pool.run("SELECT 1") == 1)
        }
    }
}
