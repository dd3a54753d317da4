import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import Postgres
import ServiceClient
import ServiceHost
import Synchronization
import Testing
import TestSupport
import Wire

@Suite("Idempotency keys") struct IdempotencyTests {
    private let keys = TestKeys()
    private let ana = User.ID(application: RoostApplication.id, user: "ana")
    private let bo = User.ID(application: RoostApplication.id, user: "bo")

    private func withEcho(
        now: @escaping @Sendable () -> Date = { Date() },
        _ body: @Sendable (TestService) async throws -> Void
    ) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys))
        try await TestService.with(EchoService.self, peers: .with(["auth": auth]), now: now, body)
    }

    private func post(
        _ word: String,
        key: String,
        as user: User.ID,
        to echo: TestService,
        at path: String = "/words"
    ) async throws -> TestHTTPResponse {
        let headers: HTTPFields = [.idempotencyKey: key]
        let token = try await keys.token(for: user)
        return try await echo.send(.post, path, token: token, body: #"{"word":"\#(word)"}"#, headers: headers)
    }

    @Test("The same key and body get the first response")
    func repeatedRequest() async throws {
        try await withEcho { echo in
            let first = try await post("one", key: "k", as: ana, to: echo)
            let second = try await post("one", key: "k", as: ana, to: echo)

            #expect(first.status == 200)
            #expect(second.status == 200)
            #expect(second.body == first.body)
        }
    }

    @Test("Another body is a 422, and another user's key is separate")
    func otherBodyOrUser() async throws {
        try await withEcho { echo in
            _ = try await post("one", key: "k", as: ana, to: echo)

            #expect(try await post("two", key: "k", as: ana, to: echo).status == 422)
            #expect(try await post("three", key: "k", as: bo, to: echo).status == 200)
        }
    }

    @Test("A failed request may be retried with its key")
    func failure() async throws {
        try await withEcho { echo in
            _ = try await post("taken", key: "first", as: ana, to: echo)
            #expect(try await post("taken", key: "k", as: ana, to: echo).status == 500)
            try await echo.database.pool.run("DELETE FROM words")

            #expect(try await post("taken", key: "k", as: ana, to: echo).status == 200)
        }
    }

    @Test("A request whose response was lost has one effect, and its response is found again")
    func lostResponse() async throws {
        try await withEcho { echo in
            for path in ["/words/kept", "/words/named"] {
                #expect(try await post("one", key: path, as: ana, to: echo, at: path).status == 500)
                let answer = try await post("one", key: path, as: ana, to: echo, at: path)
                #expect(answer.status == 200)
                #expect(try await post("one", key: path, as: ana, to: echo, at: path).body == answer.body)
            }
            #expect(try await words(of: echo) == 2)
        }
    }

    /// The key is free for another request after a failure, and its token must be new.
    @Test("Another request after a failure gets another token")
    func newToken() async throws {
        try await withEcho { echo in
            let first = try await post("one", key: "k", as: ana, to: echo, at: "/words/named")
            let second = try await post("two", key: "k", as: ana, to: echo, at: "/words/named")
            #expect(first.status == 500)
            #expect(second.status == 500)
            #expect(try await words(of: echo) == 2)
        }
    }

    @Test("A request that takes longer than its claim has one effect")
    func slowRequest() async throws {
        let offset = Mutex(0.0)
        try await withEcho(now: { Date().addingTimeInterval(offset.withLock { $0 }) }) { echo in
            let held = try await echo.database.pool.transaction { db in
                try await EchoService.hold(on: db)
                let slow = Task { try await post("one", key: "k", as: ana, to: echo, at: "/words/kept").status }
                try await waiting(1, on: echo)
                offset.withLock { $0 = 61 }
                let next = Task { try await post("one", key: "k", as: ana, to: echo, at: "/words/kept").status }
                try await waiting(2, on: echo)
                return (slow, next)
            }

            #expect(try await held.0.value == 409)
            #expect(try await held.1.value == 500)
            #expect(try await words(of: echo) == 1)
        }
    }

    private func words(of echo: TestService) async throws -> Int {
        try await echo.database.pool.one("SELECT count(*) AS n FROM words", as: { try $0.int("n") })
    }

    /// Waits until this many transactions of the service wait for the lock.
    private func waiting(_ count: Int, on echo: TestService) async throws {
        try await eventually {
            try await echo.database.pool.reads.one(
                """
                SELECT count(*) AS n FROM pg_locks
                WHERE locktype = 'advisory' AND NOT granted AND classid = 1
                    AND objid = hashtext(current_schema())::oid
                """,
                as: { try $0.int("n") }
            ) == count
        }
    }

    @Test("Concurrent requests with one key have one effect")
    func concurrentRequests() async throws {
        try await withEcho { echo in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await post("one", key: "k", as: ana, to: echo).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }

            #expect(Set(statuses).isSubset(of: [200, 409]))
            #expect(statuses.contains(200))
            #expect(try await words(of: echo) == 1)
        }
    }

    @Test("A key expires after a day")
    func expiry() async throws {
        let offset = Mutex(0.0)
        try await withEcho(now: { Date().addingTimeInterval(offset.withLock { $0 }) }) { echo in
            _ = try await post("one", key: "k", as: ana, to: echo)
            offset.withLock { $0 = 86_401 }
            try await echo.database.pool.run("DELETE FROM words")

            let token = try await keys.token(for: ana, lifetime: 200_000)
            let headers: HTTPFields = [.idempotencyKey: "k"]
            let answer = try await echo.send(.post, "/words", token: token, body: #"{"word":"two"}"#, headers: headers)

            #expect(answer.status == 200)
        }
    }

    @Test("A request that only reads leaves no row")
    func reads() async throws {
        try await withEcho { echo in
            for word in ["one", "two"] {
                let answer = try await post(word, key: "k", as: ana, to: echo, at: "/words/read")
                #expect(answer.status == 200)
            }
            #expect(try await rows(of: echo) == 0)
        }
    }

    @Test("A response of more than 16 kB is not stored, and the request is not repeated")
    func largeResponse() async throws {
        try await withEcho { echo in
            let first = try await post("x", key: "k", as: ana, to: echo, at: "/words/large")
            let second = try await post("x", key: "k", as: ana, to: echo, at: "/words/large")

            #expect(first.status == 200)
            #expect(first.body.count > 20_000)
            #expect(second.status == 409)
            #expect(second.problem?.code == "response_not_stored")
            #expect(try await words(of: echo) == 1)
            #expect(try await bytes(of: echo) < 1_000)
        }
    }

    @Test("A request that finds its own result gets its response again, however large")
    func largeResponseMadeAgain() async throws {
        try await withEcho { echo in
            let first = try await post("x", key: "k", as: ana, to: echo, at: "/words/large/named")
            let second = try await post("x", key: "k", as: ana, to: echo, at: "/words/large/named")

            #expect(second.status == 200)
            #expect(second.body == first.body)
            #expect(try await words(of: echo) == 1)
            #expect(try await bytes(of: echo) < 1_000)
        }
    }

    @Test("A user has at most 1,000 keys, and another user is not affected")
    func growth() async throws {
        try await withEcho { echo in
            try await echo.database.pool.run(
                """
                INSERT INTO idempotency_keys (application_id, user_id, key, fingerprint, begun_at, status, body)
                SELECT \(ana.application)::text, \(ana.user)::text, 'old ' || n, '', now() - interval '1 hour', 200, ''
                FROM generate_series(1, 995) AS n
                """
            )
            var statuses: [Int] = []
            var last: TestHTTPResponse?
            for number in 0..<20 {
                last = try await post("w\(number)", key: "new \(number)", as: ana, to: echo)
                statuses.append(last?.status ?? 0)
            }

            #expect(statuses == Array(repeating: 200, count: 5) + Array(repeating: 429, count: 15))
            #expect(last?.problem?.code == "too_many_idempotency_keys")
            // The first key expires in 23 hours.
            let retryAfter = Int(last?.headers[.retryAfter] ?? "") ?? 0
            #expect((82_000...82_800).contains(retryAfter))
            #expect(try await rows(of: echo) == 1_000)
            #expect(try await post("w0", key: "new 0", as: ana, to: echo).status == 200)
            #expect(try await post("b", key: "k", as: bo, to: echo).status == 200)
        }
    }

    private func rows(of echo: TestService) async throws -> Int {
        try await echo.database.pool.one("SELECT count(*) AS n FROM idempotency_keys", as: { try $0.int("n") })
    }

    /// The size of the stored rows in bytes.
    private func bytes(of echo: TestService) async throws -> Int {
        try await echo.database.pool.one(
            "SELECT coalesce(sum(pg_column_size(known)), 0) AS n FROM idempotency_keys AS known",
            as: { try $0.int("n") }
        )
    }
}
