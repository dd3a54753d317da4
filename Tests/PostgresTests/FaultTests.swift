import Postgres
import Testing

/// A pool whose network or server fails, through a proxy that causes the fault.
@Suite("Faults of network and server") struct FaultTests {
    @Test("A statement that is cut off while it runs has an unknown outcome")
    func cutStatement() async throws {
        let proxy = try FaultProxy()
        try await withFixture(through: proxy, { _ in }) { fixture in
            let task = Task { try await fixture.pool.run("SELECT pg_sleep(60)") }
            try await fixture.untilRunning("%pg_sleep(60)%")

            proxy.cut()

            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.kind == .connectionLost(outcomeUnknown: true))
            #expect(error?.isRetryable == false)
            #expect(error?.isUnavailable == true)
            try await fixture.pool.run("SELECT 1")
        }
    }

    @Test("A transaction that is cut off before its commit is certainly rolled back")
    func cutBeforeCommit() async throws {
        let proxy = try FaultProxy()
        try await withFixture(through: proxy, { _ in }) { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")

            let error = await #expect(throws: PostgresError.self) {
                try await fixture.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    proxy.cut()
                    try await until("the connection is gone") {
                        do {
                            try await db.run("SELECT 1")
                            return false
                        } catch {
                            return true
                        }
                    }
                }
            }

            #expect(error?.kind == .connectionLost(outcomeUnknown: false))
            try await #expect(fixture.pool.one("SELECT count(*) AS it FROM things") { try $0.int("it") } == 0)
        }
    }

    @Test("A commit whose response is lost has an unknown outcome")
    func lostCommitResponse() async throws {
        let proxy = try FaultProxy()
        try await withFixture(through: proxy, { _ in }) { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")

            let task = Task {
                try await fixture.pool.transaction { db in
                    try await db.run("INSERT INTO things VALUES (1)")
                    proxy.hold(responses: true)
                }
            }
            try await until("it is committed") {
                try await fixture.admin.one("SELECT count(*) AS it FROM \(identifier: fixture.schema).things") {
                    try $0.int("it")
                } == 1
            }
            proxy.cut()
            proxy.hold()

            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.kind == .connectionLost(outcomeUnknown: true))
        }
    }

    @Test("A sent segment has an unknown outcome, and one that was not sent can be retried")
    func unknownOutcomeOfSentSegment() async throws {
        let proxy = try FaultProxy()
        try await withFixture(through: proxy, { $0.acquireTimeout = .seconds(5) }) { fixture in
            try await fixture.pool.run("CREATE TABLE things (id int8)")
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            _ = try await dedicatedConnection.segment(["SELECT 1"])

            proxy.hold(responses: true)
            let sent = Task { try await dedicatedConnection.segment(["INSERT INTO things VALUES (1)"]) }
            try await until("it is committed") {
                try await fixture.admin.one("SELECT count(*) AS it FROM \(identifier: fixture.schema).things") {
                    try $0.int("it")
                } == 1
            }
            proxy.refuse()
            proxy.cut()
            let lost = await #expect(throws: PostgresError.self) { try await sent.value }
            let unsent = await #expect(throws: PostgresError.self) {
                try await dedicatedConnection.segment(["INSERT INTO things VALUES (2)"])
            }
            proxy.refuse(false)
            proxy.hold()

            #expect(lost?.kind == .connectionLost(outcomeUnknown: true))
            #expect(unsent?.outcomeUnknown == false)
            #expect(unsent?.isRetryable == true)
            try await until("the connection is back") { (try? await dedicatedConnection.segment(["SELECT 1"])) != nil }
            try await #expect(fixture.pool.all("SELECT id FROM things") { try $0.int("id") } == [1])
        }
    }

    @Test("A server that does not respond counts as unavailable")
    func silentServer() async throws {
        let proxy = try FaultProxy()
        try await withFixture(
            through: proxy,
            {
                $0.readConnections = 1
                $0.readTimeout = .seconds(1)
                $0.statementTimeout = .seconds(1)
                // Long enough for a slow machine to send the second read before the first one times out.
                $0.responseTimeout = .seconds(4)
            }
        ) { fixture in
            // Connecting may take a slow machine longer than these timeouts.
            try await until("it can be read") { (try? await fixture.pool.ping()) != nil }
            try await until("it can be written") { (try? await fixture.pool.run("SELECT 1")) != nil }
            proxy.hold(requests: true, responses: true)

            let clock = ContinuousClock()
            let time = await clock.measure {
                async let first = failure { try await fixture.pool.reads.run("SELECT 1") }
                async let second = failure { try await fixture.pool.reads.run("SELECT 2") }
                async let write = failure { try await fixture.pool.run("SELECT 3") }
                let errors = await [first, second, write]
                let kinds = errors.map { $0?.kind }
                #expect(kinds[..<2].contains(.timeout(outcomeUnknown: false)))
                #expect(kinds[..<2].contains(.connectionLost(outcomeUnknown: false)))
                #expect(kinds[2] == .timeout(outcomeUnknown: true))
                #expect(errors.allSatisfy { $0?.isUnavailable == true })
            }
            proxy.hold()

            #expect(time > .milliseconds(4_950))
            #expect(time < .seconds(25))
            try await until("the pool is back") { (try? await fixture.pool.ping()) != nil }
        }
    }

    @Test("A pool starts without a server, and connects once there is one")
    func startsWithoutServer() async throws {
        let proxy = try FaultProxy()
        proxy.refuse()
        try await withFixture(through: proxy, { $0.acquireTimeout = .milliseconds(200) }) { fixture in
            fixture.pool.start()
            for _ in 0..<2 {
                let error = await #expect(throws: PostgresError.self) { try await fixture.pool.ping() }
                #expect(error?.kind == .unavailable)
                #expect(error?.isRetryable == true)
            }
            let write = await #expect(throws: PostgresError.self) { try await fixture.pool.run("SELECT 1") }
            #expect(write?.kind == .unavailable)

            proxy.refuse(false)

            let clock = ContinuousClock()
            let time = try await clock.measure {
                try await until("the pool is there") { (try? await fixture.pool.ping()) != nil }
            }
            #expect(time < .seconds(20))
        }
    }

    @Test("All connections come back after the server terminated them")
    func reconnectsAfterTermination() async throws {
        try await withFixture { fixture in
            let dedicatedConnection = fixture.pool.dedicatedConnection()
            _ = try await dedicatedConnection.segment(["SELECT 1"])
            try await fixture.pool.ping()
            try await fixture.pool.run("SELECT 1")

            try await #expect(fixture.terminateBackends() >= 3)

            let clock = ContinuousClock()
            let time = try await clock.measure {
                try await until("all is back") {
                    try await fixture.pool.ping()
                    guard (try? await dedicatedConnection.segment(["SELECT 1"])) != nil else { return false }
                    return (try? await fixture.pool.run("SELECT 1")) != nil
                }
            }
            #expect(time < .seconds(20))
        }
    }

    @Test("A connection attempt that hangs is given up and repeated")
    func hungConnectAttempt() async throws {
        let proxy = try FaultProxy()
        proxy.hold(requests: true, responses: true)
        try await withFixture(
            through: proxy,
            {
                // Long enough to connect once the proxy lets bytes through.
                $0.connectTimeout = .seconds(1)
                $0.acquireTimeout = .seconds(2)
            }
        ) { fixture in
            let error = await #expect(throws: PostgresError.self) { try await fixture.pool.ping() }
            #expect(error?.kind == .unavailable)
            #expect(error?.message.contains("no response within") == true)
            proxy.hold()
            try await until("the pool is there") { (try? await fixture.pool.ping()) != nil }
        }
    }
}
