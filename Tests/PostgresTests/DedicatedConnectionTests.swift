import Postgres
import Testing

@Suite("Dedicated connections") struct DedicatedConnectionTests {
    @Test("A segment is committed completely or not at all")
    func atomicSegment() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8 PRIMARY KEY)")
            let dedicatedConnection = fixture.pool.dedicatedConnection()

            let results = try await dedicatedConnection.segment([
                "INSERT INTO things VALUES (\(1))", "SELECT id FROM things", "UPDATE things SET id = \(2)",
            ])
            let error = await #expect(throws: PostgresError.self) {
                try await dedicatedConnection.segment([
                    "INSERT INTO things VALUES (\(3))", "INSERT INTO things VALUES (\(2))", "SELECT \(1)::int4",
                ])
            }

            #expect(results.map(\.affectedRows) == [1, 1, 1])
            try #expect(results[1][0].int("id") == 1)
            #expect(error?.violates("things_pkey") == true)
            #expect(error?.outcomeUnknown == false)
            try await #expect(fixture.pool.all("SELECT id FROM things") { try $0.int("id") } == [2])
            // A statement after the failed one was not prepared, so its next use prepares it.
            try await #expect(dedicatedConnection.segment(["SELECT \(1)::int4"]).count == 1)
        }
    }

    @Test("The second statement sees what was committed while the first waited")
    func snapshotPerStatement() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE heads (id int8 PRIMARY KEY, last int8)")
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            try await fixture.pool.run("INSERT INTO heads VALUES (1, 0)")
            let dedicatedConnection = fixture.pool.dedicatedConnection()

            let waiting = try await fixture.pool.transaction { db in
                try await db.run("SELECT id FROM heads FOR UPDATE")
                let waiting = Task {
                    try await dedicatedConnection.segment([
                        "SELECT id FROM heads WHERE id = 1 FOR UPDATE", "SELECT count(*) AS it FROM things",
                    ])[1][0].int("it")
                }
                try await fixture.untilRunning("%heads%FOR UPDATE")
                try await db.run("INSERT INTO things VALUES (1)")
                return waiting
            }

            try await #expect(waiting.value == 1)
        }
    }

    @Test("Concurrent callers get the results of their own segments")
    func manyCallers() async throws {
        try await withFixture { fixture in
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            let wrong = await withTaskGroup(of: Int.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            let divisor = number.isMultiple(of: 7) ? 0 : 1
                            let results = try await dedicatedConnection.segment([
                                "SELECT \(number) AS it", "SELECT \(number) / \(divisor) AS it",
                            ])
                            let responses = try results.map { try $0[0].int("it") }
                            return responses == [number, number] && divisor == 1 ? 0 : 1
                        } catch {
                            return number.isMultiple(of: 7) && (error as? PostgresError)?.sqlState == "22012" ? 0 : 1
                        }
                    }
                }
                return await group.reduce(0, +)
            }

            #expect(wrong == 0)
        }
    }

    @Test("A dropped connection closes")
    func dropped() async throws {
        try await withFixture({ $0.readConnections = 0 }) { fixture in
            try await fixture.pool.run("SELECT 1")
            do {
                let dedicatedConnection = fixture.pool.dedicatedConnection()
                _ = try await dedicatedConnection.segment(["SELECT 1"])
                try await #expect(fixture.backends().count == 2)
                _ = try await dedicatedConnection.segment(["SELECT 1"])
            }

            try await until("the connection's backend is gone") { try await fixture.backends().count <= 1 }
        }
    }
}
