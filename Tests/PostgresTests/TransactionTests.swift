import Postgres
import Synchronization
import Testing

@Suite("Transactions") struct TransactionTests {
    private struct TestError: Error {}

    private func withTable(
        _ adjust: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (Fixture) async throws -> Void
    ) async throws {
        try await withFixture(adjust) { fixture in
            try await fixture.pool.run("CREATE TABLE accounts (id int8 PRIMARY KEY, amount int8 NOT NULL)")
            try await fixture.pool.run("INSERT INTO accounts VALUES (1, 100), (2, 100)")
            try await body(fixture)
        }
    }

    private func amounts(_ fixture: Fixture) async throws -> [Int] {
        try await fixture.pool.all("SELECT amount FROM accounts ORDER BY id") { try $0.int("amount") }
    }

    @Test("A transaction's changes become visible at its commit")
    func commit() async throws {
        try await withTable { fixture in
            let before = try await fixture.pool.transaction { db in
                try await db.run("UPDATE accounts SET amount = amount - 10 WHERE id = 1")
                try await db.run("UPDATE accounts SET amount = amount + 10 WHERE id = 2")
                return try await amounts(fixture)
            }

            #expect(before == [100, 100])
            try await #expect(amounts(fixture) == [90, 110])
        }
    }

    @Test("An action for the commit runs once, after the commit and before the transaction returns")
    func actionsAfterCommit() async throws {
        try await withTable { fixture in
            let runs = Atomic(0)
            let attempts = Atomic(0)
            await #expect(throws: TestError.self) {
                try await fixture.pool.transaction { db in
                    db.onCommit { runs.add(100, ordering: .relaxed) }
                    try await db.run("UPDATE accounts SET amount = 0")
                    throw TestError()
                }
            }
            try await fixture.pool.transaction { db in
                db.onCommit { runs.add(1, ordering: .relaxed) }
                #expect(runs.load(ordering: .relaxed) == 0)
                // The first attempt fails like a deadlock, and the transaction is repeated.
                guard attempts.add(1, ordering: .relaxed).newValue > 1 else {
                    try await db.run("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$")
                    return
                }
                try await db.run("UPDATE accounts SET amount = 7")
            }
            #expect(runs.load(ordering: .relaxed) == 1)
            #expect(attempts.load(ordering: .relaxed) == 2)
            try await #expect(amounts(fixture) == [7, 7])
        }
    }

    @Test("A transaction that throws is rolled back")
    func rollbackOnThrow() async throws {
        try await withTable { fixture in
            await #expect(throws: TestError.self) {
                try await fixture.pool.transaction { db in
                    try await db.run("DELETE FROM accounts")
                    throw TestError()
                }
            }

            try await #expect(amounts(fixture) == [100, 100])
        }
    }

    @Test("A transaction with a failed statement is rolled back, even if the error was ignored")
    func rollbackOnFailedStatement() async throws {
        try await withTable { fixture in
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.transaction { db in
                    try await db.run("DELETE FROM accounts")
                    _ = try? await db.execute("SELECT 1 / 0")
                }
            }

            #expect(error?.kind == .transactionAborted)
            try await #expect(amounts(fixture) == [100, 100])
        }
    }

    @Test("A violated deferred constraint is an error of the commit")
    func deferredConstraint() async throws {
        try await withTable { fixture in
            try await fixture.pool.run("UPDATE accounts SET amount = 100 * id")
            try await fixture.pool.run(
                "ALTER TABLE accounts ADD CONSTRAINT one_amount UNIQUE (amount) DEFERRABLE INITIALLY DEFERRED"
            )

            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.transaction { try await $0.run("UPDATE accounts SET amount = 7") }
            }
            let alone = await #expect(throws: PostgresError.self) {
                try await fixture.pool.run("UPDATE accounts SET amount = 7")
            }

            #expect(error?.violates("one_amount") == true)
            #expect(alone?.violates("one_amount") == true)
            try await #expect(amounts(fixture) == [100, 200])
        }
    }

    @Test("A transaction without statements takes no connection")
    func empty() async throws {
        try await withTable({ $0.transactionConnections = 1 }) { fixture in
            let value = try await fixture.pool.transaction { _ in
                try await fixture.pool.one("SELECT 1 AS it") { try $0.int("it") }
            }

            #expect(value == 1)
        }
    }

    @Test("A transaction has the requested isolation level")
    func isolationLevel() async throws {
        try await withTable { fixture in
            for (isolation, name) in [
                (PostgresIsolation.readCommitted, "read committed"), (.repeatableRead, "repeatable read"),
                (.serializable, "serializable"),
            ] {
                let level = try await fixture.pool.transaction(isolation: isolation) { db in
                    try await db.one("SELECT current_setting('transaction_isolation') AS it") { try $0.string("it") }
                }
                #expect(level == name)
            }
        }
    }

    @Test("A deadlocked transaction is repeated")
    func deadlock() async throws {
        try await withTable { fixture in
            let runs = Counter()
            let barrier = Barrier(of: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (first, second) in [(1, 2), (2, 1)] {
                    group.addTask {
                        _ = try await fixture.pool.transaction { db in
                            runs.increment()
                            try await db.run("SET LOCAL deadlock_timeout = '10ms'")
                            try await db.run("UPDATE accounts SET amount = amount + 1 WHERE id = \(first)")
                            await barrier.wait()
                            try await db.run("UPDATE accounts SET amount = amount + 1 WHERE id = \(second)")
                        }
                    }
                }
                try await group.waitForAll()
            }

            try await #expect(amounts(fixture) == [102, 102])
            #expect(runs.value > 2)
        }
    }

    @Test("A transaction with a serialization failure is repeated")
    func serializationFailure() async throws {
        try await withTable { fixture in
            let barrier = Barrier(of: 2)
            let runs = try await withThrowingTaskGroup(of: Int.self) { group in
                for id in 1...2 {
                    group.addTask {
                        var runs = 0
                        try await fixture.pool.transaction(isolation: .serializable) { db in
                            runs += 1
                            let sum = try await db.one("SELECT sum(amount)::int8 AS it FROM accounts") {
                                try $0.int("it")
                            }
                            // In the first attempt both read before either of them writes.
                            await barrier.wait()
                            try await db.run("UPDATE accounts SET amount = \(sum) WHERE id = \(id)")
                        }
                        return runs
                    }
                }
                return try await group.reduce(0, +)
            }

            #expect(runs > 2)
            try await #expect(amounts(fixture).sorted() == [200, 300])
        }
    }

    @Test("A transaction is repeated at most four times")
    func attempts() async throws {
        try await withTable { fixture in
            var runs = 0
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.transaction { db in
                    runs += 1
                    try await db.run("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
                }
            }

            #expect(error?.sqlState == "40001")
            #expect(error?.isRetryable == true)
            #expect(runs == 5)
        }
    }

    @Test("Transactions beyond the connections wait for one")
    func waiting() async throws {
        try await withTable({ $0.transactionConnections = 3 }) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        _ = try await fixture.pool.transaction { db in
                            try await db.run("UPDATE accounts SET amount = amount + 1 WHERE id = 1")
                        }
                    }
                }
                try await group.waitForAll()
            }

            try await #expect(amounts(fixture)[0] == 140)
            try await #expect(fixture.backends().count <= 3 + 2)
        }
    }

    @Test("Waiting for a connection has a limit of time and of number")
    func waitingLimit() async throws {
        try await withTable({
            $0.transactionConnections = 1
            $0.acquireTimeout = .seconds(5)
            $0.maximumWaiting = 1
        }) { fixture in
            try await fixture.pool.transaction { db in
                try await db.run("SELECT 1")
                let errors = await withTaskGroup(of: PostgresError?.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            do {
                                try await fixture.pool.run("SELECT 1")
                                return nil
                            } catch {
                                return error as? PostgresError
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(errors.allSatisfy { $0?.kind == .poolExhausted && $0?.isUnavailable == true })
                #expect(errors.count { $0?.message.contains("1 calls are already waiting") == true } == 2)
                #expect(errors.count { $0?.message.contains("became free") == true } == 1)
            }
        }
    }

    @Test("A transaction that has ended runs no statement")
    func ended() async throws {
        try await withTable { fixture in
            var escaped: PostgresTransaction?
            try await fixture.pool.transaction { db in
                escaped = db
                try await db.run("SELECT 1")
            }

            await #expect(throws: PostgresError.self) { try await escaped?.run("DELETE FROM accounts") }
            try await #expect(amounts(fixture) == [100, 100])
        }
    }
}

final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() {
        count.add(1, ordering: .relaxed)
    }
}

/// A barrier at which tasks wait for each other the first time.
actor Barrier {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of number: Int) {
        missing = number
    }

    func wait() async {
        missing -= 1
        guard missing > 0 else {
            for continuation in waiting { continuation.resume() }
            waiting = []
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }
}
