import Postgres
import Testing

@Suite("Cancellation") struct CancellationTests {
    @Test("A cancelled statement is stopped on the server")
    func statement() async throws {
        try await withFixture({ $0.transactionConnections = 1 }) { fixture in
            let task = Task { try await fixture.pool.run("SELECT pg_sleep(60)") }
            try await fixture.untilRunning("%pg_sleep(60)%")

            let clock = ContinuousClock()
            let time = await clock.measure {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }

            // Far less than the minute that the statement would take.
            #expect(time < .seconds(30))
            // The only connection is free again, and the late cancel request has cancelled no other statement.
            for number in 0..<20 {
                try await #expect(fixture.pool.one("SELECT \(number) AS it") { try $0.int("it") } == number)
            }
        }
    }

    @Test("A cancel request hits no other statement")
    func otherStatements() async throws {
        try await withFixture({ $0.transactionConnections = 2 }) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let task = Task {
                            try await fixture.pool.one("SELECT \(number) AS it FROM pg_sleep(0.001)") {
                                try $0.int("it")
                            }
                        }
                        if number.isMultiple(of: 2) {
                            try await Task.sleep(for: .microseconds(Int.random(in: 0...4_000)))
                            task.cancel()
                            if case .success(let answer) = await task.result { #expect(answer == number) }
                        } else {
                            try await #expect(task.value == number)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A cancelled transaction is rolled back")
    func transaction() async throws {
        try await withFixture({ $0.transactionConnections = 1 }) { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            let task = Task {
                try await fixture.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    try await db.run("SELECT pg_sleep(60)")
                }
            }
            try await fixture.untilRunning("%pg_sleep(60)%")

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(fixture.pool.one("SELECT count(*) AS it FROM things") { try $0.int("it") } == 0)
        }
    }

    @Test("A transaction that is cancelled between statements is not committed")
    func betweenStatements() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            let task = Task {
                try await fixture.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }

            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(fixture.pool.one("SELECT count(*) AS it FROM things") { try $0.int("it") } == 0)
        }
    }

    @Test("A cancelled caller leaves the queue for connections")
    func queue() async throws {
        try await withFixture({ $0.transactionConnections = 1 }) { fixture in
            try await fixture.pool.transaction { db in
                try await db.run("SELECT 1")
                let tasks = (0..<10).map { _ in Task { try await fixture.pool.run("SELECT 1") } }
                for task in tasks {
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
                try await db.run("SELECT 1")
            }
            try await fixture.pool.run("SELECT 1")
        }
    }

    @Test("Cancelling does not stop the statements on a shared connection")
    func sharedConnection() async throws {
        try await withFixture({ $0.readConnections = 1 }) { fixture in
            let behind = try await fixture.admin.transaction { db in
                // The slow statement waits for this lock until the transaction ends.
                try await db.run("SELECT pg_advisory_xact_lock(hashtext(\(fixture.schema)))")
                let slow = Task {
                    try await fixture.pool.reads.run("SELECT pg_advisory_xact_lock(hashtext(\(fixture.schema)))")
                }
                try await fixture.untilRunning("%pg_advisory_xact_lock%")
                let behind = Task { try await fixture.pool.reads.one("SELECT 7 AS it") { try $0.int("it") } }

                slow.cancel()
                await #expect(throws: CancellationError.self) { try await slow.value }
                return behind
            }

            try await #expect(behind.value == 7)
        }
    }

    @Test("A dedicated connection works after a cancellation")
    func dedicatedConnection() async throws {
        try await withFixture { fixture in
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            let task = Task { try await dedicatedConnection.segment(["SELECT pg_sleep(60)"]) }
            try await fixture.untilRunning("%pg_sleep(60)%")

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(dedicatedConnection.segment(["SELECT 1 AS it"])[0][0].int("it") == 1)
        }
    }
}
