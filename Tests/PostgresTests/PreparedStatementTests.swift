import Postgres
import Testing

@Suite("Prepared statements") struct PreparedStatementTests {
    /// The texts of the statements that are prepared on the connection.
    private func prepared(_ db: some PostgresExecutor) async throws -> [String] {
        try await db.all("SELECT statement FROM pg_prepared_statements ORDER BY name") { try $0.string("statement") }
    }

    @Test("A statement is prepared once and reused")
    func reuse() async throws {
        try await withFixture({ $0.readConnections = 1 }) { fixture in
            for number in 0..<10 { try await fixture.pool.reads.run("SELECT \(number)") }

            let statements = try await prepared(fixture.pool.reads)
            #expect(statements.count { $0 == "SELECT $1" } == 1)
        }
    }

    @Test("Only the most recent statements stay prepared")
    func capacity() async throws {
        try await withFixture({
            $0.readConnections = 1
            $0.preparedStatements = 4
        }) { fixture in
            for number in 0..<50 { try await fixture.pool.reads.run("SELECT \(unsafe: String(number))") }
            for number in 0..<50 {
                let answer = try await fixture.pool.reads.one("SELECT \(unsafe: String(number)) AS it") {
                    try $0.int("it")
                }
                #expect(answer == number)
            }

            let statements = try await prepared(fixture.pool.reads)
            #expect(statements.count <= 5)
            #expect(statements.contains("SELECT 49 AS it"))
        }
    }

    @Test("Statements are dropped in transactions too, even in failed ones")
    func capacityInTransactions() async throws {
        try await withFixture({
            $0.transactionConnections = 1
            $0.preparedStatements = 4
        }) { fixture in
            for round in 0..<5 {
                _ = try? await fixture.pool.transaction { db in
                    for number in 0..<10 { try await db.run("SELECT \(unsafe: String(number + 10 * round))") }
                    try await db.run("SELECT 1 / 0")
                }
            }
            try await fixture.pool.run("SELECT 1")

            try await #expect(prepared(fixture.pool).count <= 6)
        }
    }

    @Test("A statement that cannot be prepared fails for its own caller")
    func unpreparableStatement() async throws {
        try await withFixture { fixture in
            let states = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        do {
                            try await fixture.pool.reads.run("SELEKT 1")
                            return nil
                        } catch {
                            return (error as? PostgresError)?.sqlState
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }

            #expect(states == Array(repeating: "42601", count: 50))
            try await #expect(fixture.pool.reads.one("SELECT 1 AS it") { try $0.int("it") } == 1)
        }
    }

    @Test("After a change of a table its statements are prepared again")
    func changedTable() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            try await fixture.pool.run("INSERT INTO things VALUES (1)")
            let read: PostgresQuery = "SELECT * FROM things"
            for _ in 0..<8 { try await fixture.pool.reads.run(read) }
            _ = try await fixture.pool.execute(read)
            try await fixture.pool.transaction { _ = try await $0.execute(read) }
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            _ = try await dedicatedConnection.segment([read])

            try await fixture.pool.run("ALTER TABLE things ADD COLUMN name text")

            for _ in 0..<8 { try await #expect(fixture.pool.reads.execute(read).columnNames == ["id", "name"]) }
            try await #expect(fixture.pool.execute(read).columnNames == ["id", "name"])
            try await #expect(fixture.pool.transaction { try await $0.execute(read).columnNames } == ["id", "name"])
            try await #expect(dedicatedConnection.segment([read])[0].columnNames == ["id", "name"])
        }
    }

    @Test("A statement that another command dropped is prepared again")
    func statementsDroppedByOthers() async throws {
        try await withFixture({ $0.transactionConnections = 1 }) { fixture in
            for _ in 0..<3 { try await fixture.pool.run("SELECT 1") }
            try await fixture.pool.run("DEALLOCATE ALL")

            try await #expect(fixture.pool.run("SELECT 1") == 1)
        }
    }
}
