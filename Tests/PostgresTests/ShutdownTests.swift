import Logging
import Testing

@testable import Postgres

@Suite("Shutdown") struct ShutdownTests {
    @Test("A shutdown finishes running work and refuses new work")
    func drainsRunningWork() async throws {
        try await withFixture({ $0.drainTimeout = .seconds(60) }) { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            _ = try await dedicatedConnection.segment(["SELECT 1"])
            let (transaction, down) = try await fixture.admin.transaction { db in
                // The running transaction waits for this lock until the outer transaction ends.
                try await db.run("SELECT pg_advisory_xact_lock(hashtext(\(fixture.schema)))")
                let transaction = Task {
                    try await fixture.pool.transaction { db in
                        try await db.run("SELECT pg_advisory_xact_lock(hashtext(\(fixture.schema)))")
                        try await db.run("INSERT INTO things VALUES (1)")
                    }
                }
                try await fixture.untilRunning("%pg_advisory_xact_lock%")

                let down = Task { await fixture.pool.shutdown() }
                try await until("nothing new is taken") {
                    do {
                        try await fixture.pool.ping()
                        return false
                    } catch {
                        return (error as? PostgresError)?.kind == .shuttingDown
                    }
                }
                let single = await #expect(throws: PostgresError.self) { try await fixture.pool.run("SELECT 1") }
                let segment = await #expect(throws: PostgresError.self) {
                    try await dedicatedConnection.segment(["SELECT 1"])
                }
                let begin = await #expect(throws: PostgresError.self) {
                    try await fixture.pool.transaction { try await $0.run("SELECT 1") }
                }

                #expect([single, segment, begin].allSatisfy { $0?.kind == .shuttingDown && $0?.isUnavailable == true })
                return (transaction, down)
            }
            try await transaction.value
            await down.value
            let count = try await fixture.admin.one("SELECT count(*) AS it FROM \(identifier: fixture.schema).things") {
                try $0.int("it")
            }
            #expect(count == 1)
            try await until("all backends are gone") { try await fixture.backends().isEmpty }
        }
    }

    @Test("A shutdown stops waiting after its timeout")
    func drainTimeout() async throws {
        try await withFixture({ $0.drainTimeout = .milliseconds(200) }) { fixture in
            let task = Task { try await fixture.pool.run("SELECT pg_sleep(60)") }
            try await fixture.untilRunning("%pg_sleep(60)%")

            let clock = ContinuousClock()
            let time = await clock.measure { await fixture.pool.shutdown() }

            // Far less than the minute that the statement would take.
            #expect(time < .seconds(30))
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.outcomeUnknown == true)
        }
    }

    @Test("Cancelling the pool's run shuts it down")
    func cancelledRun() async throws {
        try await withFixture { fixture in
            let running = Task { try await fixture.pool.run() }
            try await fixture.pool.ping()

            running.cancel()
            try await running.value

            let error = await failure { try await fixture.pool.ping() }
            #expect(error?.kind == .shuttingDown)
            try await until("all backends are gone") { try await fixture.backends().isEmpty }
        }
    }

    @Test("A pool that was never used shuts down, even twice")
    func unusedPool() async throws {
        let pool = PostgresPool(
            configuration: try PostgresConfiguration(url: TestServer.url),
            logger: TestServer.logger
        )
        await pool.shutdown()
        await pool.shutdown()

        let error = await #expect(throws: PostgresError.self) { try await pool.ping() }
        #expect(error?.kind == .shuttingDown)
    }

    @Test("A pool that is dropped without a shutdown closes its connections")
    func droppedPool() async throws {
        try await withFixture { fixture in
            let name = TestServer.uniqueName("dropped_")
            do {
                var configuration = try PostgresConfiguration(url: TestServer.url)
                configuration.applicationName = name
                relaxTimeouts(&configuration)
                let pool = PostgresPool(configuration: configuration, logger: TestServer.logger)
                try await pool.run("SELECT 1")
            }

            try await until("its backends are gone") {
                try await fixture.admin.one(
                    "SELECT count(*) AS it FROM pg_stat_activity WHERE application_name = \(name)"
                ) { try $0.int("it") } == 0
            }
        }
    }

    @Test("A shutdown that is queued behind a stop completes", .timeLimit(.minutes(1)))
    func commandBehindStop() async throws {
        let engine = Engine(
            configuration: try PostgresConfiguration(url: "postgres://127.0.0.1:1/none"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        #expect(engine.post(.stop))
        await withCheckedContinuation { continuation in
            #expect(engine.post(.shutdown { continuation.resume() }))
            // The engine reads both commands in its first batch, and processes the stop first.
            engine.start()
        }
        #expect(!engine.post(.stop))
    }
}
