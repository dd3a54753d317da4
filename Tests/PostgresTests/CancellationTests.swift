import Postgres
import Testing

struct CancellationTests {
    @Test func aCancelledStatementIsStoppedOnTheServer() async throws {
        try await withScene({ $0.transactionConnections = 1 }) { scene in
            let task = Task { try await scene.pool.run("SELECT pg_sleep(60)") }
            try await scene.untilRunning("%pg_sleep(60)%")

            let clock = ContinuousClock()
            let time = await clock.measure {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }

            // Far from the minute that the statement would take.
            #expect(time < .seconds(30))
            // The only connection is free again, and the late cancel request has hit nobody.
            for number in 0..<20 {
                try await #expect(scene.pool.one("SELECT \(number) AS it") { try $0.int("it") } == number)
            }
        }
    }

    @Test func cancellingHitsNoOneElse() async throws {
        try await withScene({ $0.transactionConnections = 2 }) { scene in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let task = Task {
                            try await scene.pool.one("SELECT \(number) AS it FROM pg_sleep(0.001)") {
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

    @Test func aCancelledTransactionIsRolledBack() async throws {
        try await withScene({ $0.transactionConnections = 1 }) { scene in
            try await scene.pool.run("CREATE TABLE things (id int8)")
            let task = Task {
                try await scene.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    try await db.run("SELECT pg_sleep(60)")
                }
            }
            try await scene.untilRunning("%pg_sleep(60)%")

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(scene.pool.one("SELECT count(*) AS it FROM things") { try $0.int("it") } == 0)
        }
    }

    @Test func aTransactionCancelledBetweenStatementsIsNotCommitted() async throws {
        try await withScene { scene in
            try await scene.pool.run("CREATE TABLE things (id int8)")
            let task = Task {
                try await scene.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }

            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(scene.pool.one("SELECT count(*) AS it FROM things") { try $0.int("it") } == 0)
        }
    }

    @Test func aCallerThatLeavesTheQueueTakesNoConnection() async throws {
        try await withScene({ $0.transactionConnections = 1 }) { scene in
            try await scene.pool.transaction { db in
                try await db.run("SELECT 1")
                let tasks = (0..<10).map { _ in Task { try await scene.pool.run("SELECT 1") } }
                for task in tasks {
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
                try await db.run("SELECT 1")
            }
            try await scene.pool.run("SELECT 1")
        }
    }

    @Test func aSharedConnectionIsNeverCancelled() async throws {
        try await withScene({ $0.readConnections = 1 }) { scene in
            let behind = try await scene.admin.transaction { db in
                // The slow one waits for this, however late it is looked at.
                try await db.run("SELECT pg_advisory_xact_lock(hashtext(\(scene.schema)))")
                let slow = Task {
                    try await scene.pool.reads.run("SELECT pg_advisory_xact_lock(hashtext(\(scene.schema)))")
                }
                try await scene.untilRunning("%pg_advisory_xact_lock%")
                let behind = Task { try await scene.pool.reads.one("SELECT 7 AS it") { try $0.int("it") } }

                slow.cancel()
                await #expect(throws: CancellationError.self) { try await slow.value }
                return behind
            }

            try await #expect(behind.value == 7)
        }
    }

    @Test func aLaneGoesOnAfterACancelledSegment() async throws {
        try await withScene { scene in
            let lane = scene.pool.lane()
            let task = Task { try await lane.segment(["SELECT pg_sleep(60)"]) }
            try await scene.untilRunning("%pg_sleep(60)%")

            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }

            try await #expect(lane.segment(["SELECT 1 AS it"])[0][0].int("it") == 1)
        }
    }
}
