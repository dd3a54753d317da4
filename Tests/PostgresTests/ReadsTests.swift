import Postgres
import Testing

@Suite("Reads") struct ReadsTests {
    @Test("A read returns its value")
    func value() async throws {
        try await withFixture { fixture in
            let sum = try await fixture.pool.reads.one("SELECT \(2) + \(3) AS sum") { try $0.int("sum") }
            #expect(sum == 5)
        }
    }

    @Test("Reads have separate settings")
    func settings() async throws {
        try await withFixture { configuration in
            configuration.readSettings = ["plan_cache_mode": "force_generic_plan"]
        } _: { fixture in
            let mode: PostgresQuery = "SELECT current_setting('plan_cache_mode') AS mode"
            let ofReads = try await fixture.pool.reads.one(mode) { try $0.string("mode") }
            let ofOthers = try await fixture.pool.one(mode) { try $0.string("mode") }
            #expect(ofReads == "force_generic_plan")
            #expect(ofOthers == "auto")
        }
    }

    @Test("A failed read affects no other read on the connection")
    func failedRead() async throws {
        try await withFixture { fixture in
            let outcomes = await withTaskGroup(of: (Int, Int?, PostgresError?).self) { group in
                for number in 0..<200 {
                    group.addTask {
                        do {
                            let divisor = number == 100 ? 0 : 1
                            let answer = try await fixture.pool.reads.one("SELECT \(number) / \(divisor) AS it") {
                                try $0.int("it")
                            }
                            return (number, answer, nil)
                        } catch {
                            return (number, nil, error as? PostgresError)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }

            for (number, answer, error) in outcomes {
                #expect(answer == (number == 100 ? nil : number))
                #expect(error?.sqlState == (number == 100 ? "22012" : nil))
            }
            let backends = try await fixture.backends()
            #expect(backends.count <= 3)
        }
    }

    @Test("Results stay with their callers although others are cancelled")
    func cancelledReads() async throws {
        try await withFixture { fixture in
            let wrong = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        let task = Task {
                            try await fixture.pool.reads.one("SELECT \(number) AS it, \(String(number)) AS text") {
                                (try $0.int("it"), try $0.string("text"))
                            }
                        }
                        if number.isMultiple(of: 3) { task.cancel() }
                        guard case .success(let answer) = await task.result else { return !number.isMultiple(of: 3) }
                        return answer != (number, String(number))
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }

            #expect(wrong == 0)
        }
    }

    @Test("A write is refused")
    func write() async throws {
        try await withFixture { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")

            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.reads.run("INSERT INTO things VALUES (1)")
            }

            #expect(error?.sqlState == "25006")
        }
    }

    @Test("The server stops a read that takes too long")
    func slowRead() async throws {
        try await withFixture({ $0.readTimeout = .milliseconds(100) }) { fixture in
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.reads.run("SELECT pg_sleep(5)")
            }

            #expect(error?.kind == .timeout(outcomeUnknown: false))
            #expect(error?.isUnavailable == true)
        }
    }

    @Test("Reads beyond the limit of waiting ones are refused")
    func waitingLimit() async throws {
        try await withFixture({
            $0.readConnections = 1
            $0.readsInFlight = 1
            $0.maximumWaiting = 10
        }) { fixture in
            let refused = Counter()
            let tasks = try await fixture.admin.transaction { db in
                // All reads wait for this lock, so none finishes before enough of them were refused.
                try await db.run("SELECT pg_advisory_xact_lock(hashtext(\(fixture.schema)))")
                let tasks = (0..<40).map { _ in
                    Task { () async -> PostgresError.Kind? in
                        let error = await failure {
                            try await fixture.pool.reads.run(
                                "SELECT pg_advisory_xact_lock_shared(hashtext(\(fixture.schema)))"
                            )
                        }
                        if error != nil { refused.increment() }
                        return error?.kind
                    }
                }
                try await until("enough were turned away") { refused.value >= 20 }
                return tasks
            }
            var outcomes: [PostgresError.Kind?] = []
            for task in tasks { outcomes.append(await task.value) }

            #expect(outcomes.count { $0 == nil } >= 10)
            #expect(outcomes.count { $0 == .poolExhausted } >= 20)
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .poolExhausted })
        }
    }

    @Test("Reads are repeated when their connections are lost")
    func lostConnections() async throws {
        try await withFixture { fixture in
            try await fixture.pool.ping()

            let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            let answer = try await fixture.pool.reads.one("SELECT \(number) AS it FROM pg_sleep(0.001)")
                            {
                                try $0.int("it")
                            }
                            return answer != number
                        } catch {
                            return true
                        }
                    }
                }
                try await fixture.terminateBackends()
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }

            #expect(failures == 0)
        }
    }
}
