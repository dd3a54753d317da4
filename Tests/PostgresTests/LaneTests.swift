import Postgres
import Testing

struct LaneTests {
    @Test func aSegmentIsCommittedTogetherOrNotAtAll() async throws {
        try await withScene { scene in
            try await scene.pool.run("CREATE TABLE things (id int8 PRIMARY KEY)")
            let lane = scene.pool.lane()

            let results = try await lane.segment([
                "INSERT INTO things VALUES (\(1))", "SELECT id FROM things", "UPDATE things SET id = \(2)",
            ])
            let error = await #expect(throws: PostgresError.self) {
                try await lane.segment([
                    "INSERT INTO things VALUES (\(3))", "INSERT INTO things VALUES (\(2))", "SELECT \(1)::int4",
                ])
            }

            #expect(results.map(\.affectedRows) == [1, 1, 1])
            try #expect(results[1][0].int("id") == 1)
            #expect(error?.violates("things_pkey") == true)
            #expect(error?.outcomeUnknown == false)
            try await #expect(scene.pool.all("SELECT id FROM things") { try $0.int("id") } == [2])
            // What was to be prepared behind the failure is prepared when it is next used.
            try await #expect(lane.segment(["SELECT \(1)::int4"]).count == 1)
        }
    }

    @Test func theSecondStatementSeesWhatWasCommittedWhileTheFirstWaited() async throws {
        try await withScene { scene in
            try await scene.pool.run("CREATE TABLE heads (id int8 PRIMARY KEY, last int8)")
            try await scene.pool.run("CREATE TABLE things (id int8)")
            try await scene.pool.run("INSERT INTO heads VALUES (1, 0)")
            let lane = scene.pool.lane()

            let waiting = try await scene.pool.transaction { db in
                try await db.run("SELECT id FROM heads FOR UPDATE")
                let waiting = Task {
                    try await lane.segment([
                        "SELECT id FROM heads WHERE id = 1 FOR UPDATE", "SELECT count(*) AS it FROM things",
                    ])[1][0].int("it")
                }
                try await scene.untilRunning("%heads%FOR UPDATE")
                try await db.run("INSERT INTO things VALUES (1)")
                return waiting
            }

            try await #expect(waiting.value == 1)
        }
    }

    @Test func segmentsOfManyCallersStayTheirOwn() async throws {
        try await withScene { scene in
            let lane = scene.pool.lane()
            let wrong = await withTaskGroup(of: Int.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do {
                            let divisor = number.isMultiple(of: 7) ? 0 : 1
                            let results = try await lane.segment([
                                "SELECT \(number) AS it", "SELECT \(number) / \(divisor) AS it",
                            ])
                            let answers = try results.map { try $0[0].int("it") }
                            return answers == [number, number] && divisor == 1 ? 0 : 1
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

    @Test func aDroppedLaneClosesItsConnection() async throws {
        try await withScene({ $0.readConnections = 0 }) { scene in
            try await scene.pool.run("SELECT 1")
            do {
                let lane = scene.pool.lane()
                _ = try await lane.segment(["SELECT 1"])
                try await #expect(scene.backends().count == 2)
                _ = try await lane.segment(["SELECT 1"])
            }

            try await until("the lane's backend is gone") { try await scene.backends().count <= 1 }
        }
    }
}
