import Configuration
import CoreMetrics
import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import ServiceClient
import ServiceHost
import Synchronization
import Testing
import TestSupport
import Wire

/// The smallest service there is, for what all of them share.
private struct EchoService: SuiteService {
    static let name = "echo"
    static let defaultPort = 0
    static let migrations = [
        Migration(name: "V0001_words", sql: Array("CREATE TABLE words (word text CONSTRAINT words_key UNIQUE)".utf8))
    ]

    struct Word: Codable, ResponseCodable {
        var word: String
    }

    private let resources: ServiceResources

    init(resources: ServiceResources, configuration: ConfigReader) async throws {
        self.resources = resources
    }

    func addRoutes(to routes: SuiteRoutes) {
        routes.open.get("open") { _, context in Word(word: context.identity?.user.user ?? "nobody") }
        routes.open.get("broken") { _, _ -> Word in throw CancellationError() }
        routes.user.get("words/{word}") { _, context in Word(word: try context.path("word")) }
        routes.user.get("words/fixed") { _, _ in Word(word: "fixed word") }
        routes.user.post("words") { request, context in
            let word = try await request.decode(as: Word.self, context: context)
            try await resources.database.run("INSERT INTO words (word) VALUES (\(word.word))")
            return word
        }
        routes.neighbour.get("caller") { _, context in Word(word: context.caller) }
    }
}

@Suite struct ServiceHostTests {
    private let keys = TestKeys()
    private let alice = User.ID(application: RoostApplication.id, user: "alice")

    private func withEcho(_ body: @Sendable (TestService) async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys))
        try await TestService.with(EchoService.self, neighbours: .with(["auth": auth]), body)
    }

    @Test func nobodyIsForbiddenAndUnknownPathsComeFirst() async throws {
        try await withEcho { echo in
            let answers = [
                (try await echo.send(.get, "/words/x"), 403, "missing_credential"),
                (try await echo.send(.get, "/words/x", token: "rubbish"), 403, "invalid_credential"),
                (try await echo.send(.get, "/nowhere"), 404, "not_found"),
                (try await echo.send(.delete, "/words"), 405, "method_not_allowed"),
                (try await echo.send(.delete, "/words/x"), 405, "method_not_allowed"),
            ]
            for (answer, status, code) in answers {
                #expect(answer.status == status)
                #expect(answer.problem?.code == code)
                #expect(answer.headers[.contentType] == Problem.mediaType)
                #expect(answer.problem?.requestId == answer.headers[.requestID])
            }
            #expect(answers[3].0.headers[.allow] == "POST")
            #expect(answers[4].0.headers[.allow] == "GET")
        }
    }

    @Test func twoCredentialsAreNone() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: alice)
            var headers: HTTPFields = [.authorization: "Bearer \(token)"]
            headers.append(HTTPField(name: .authorization, value: "Bearer \(token)"))

            #expect(try await echo.send(.get, "/words/x", headers: headers).status == 403)
            #expect(try await echo.send(.get, "/words/x", headers: [.authorization: "Basic eDp5"]).status == 403)
            #expect(try await echo.send(.get, "/words/x", headers: [.authorization: "bearer \(token)"]).status == 200)
        }
    }

    @Test func onAnOpenRouteABadCredentialIsAsNone() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: alice)

            #expect(try await echo.send(.get, "/open").json["word"].string == "nobody")
            #expect(try await echo.send(.get, "/open", token: "rubbish").json["word"].string == "nobody")
            #expect(try await echo.send(.get, "/open", token: token).json["word"].string == "alice")
        }
    }

    @Test func aSlashInsideASegmentIsDataAndFixedWordsWin() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: alice)

            #expect(try await echo.send(.get, "/words/a%2Fb", token: token).json["word"].string == "a/b")
            #expect(try await echo.send(.get, "/words/fixed", token: token).json["word"].string == "fixed word")
            #expect(try await echo.send(.get, "/words/%00", token: token).status == 404)
        }
    }

    @Test func whatNobodyPlannedForTellsNothing() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: alice)
            _ = try await echo.send(.post, "/words", token: token, body: #"{"word":"once"}"#)

            let answers = [
                try await echo.send(.get, "/broken"),
                try await echo.send(.post, "/words", token: token, body: #"{"word":"once"}"#),
            ]
            for answer in answers {
                #expect(answer.status == 500)
                #expect(answer.problem?.code == "internal")
                #expect(!answer.text.contains("words_key"))
            }
        }
    }

    @Test func aRequestIdIsTakenIfItIsPlain() async throws {
        try await withEcho { echo in
            let taken = try await echo.send(.get, "/open", headers: [.requestID: "my-id_1.x"])
            let replaced = try await echo.send(.get, "/open", headers: [.requestID: "a b\"c"])

            #expect(taken.headers[.requestID] == "my-id_1.x")
            #expect(replaced.headers[.requestID] != "a b\"c")
            #expect(replaced.headers[.requestID]?.isEmpty == false)
        }
    }

    @Test func onlyNeighboursComeIn() async throws {
        try await withEcho { echo in
            let userToken = try await keys.token(for: alice)
            let word = try await echo.neighbour("push", callee: "echo").get(
                "/internal/caller",
                as: EchoService.Word.self
            )

            #expect(word.word == "push")
            #expect(try await echo.send(.get, "/internal/caller").status == 403)
            #expect(try await echo.send(.get, "/internal/caller", token: userToken).status == 403)
            await #expect(throws: APIError.self) {
                try await echo.neighbour("push", callee: "auth").get("/internal/caller", as: EchoService.Word.self)
            }
        }
    }

    @Test func bodiesAreHeldToTypeAndSize() async throws {
        try await withEcho { echo in
            let token = try await keys.token(for: alice)
            func post(_ body: String, _ type: String) async throws -> TestAnswer {
                try await echo.send(.post, "/words", token: token, body: body, headers: [.contentType: type])
            }

            #expect(try await post(#"{"word":"x"}"#, "text/plain").status == 415)
            #expect(try await post("word=x", "application/x-www-form-urlencoded").status == 415)
            #expect(try await post(#"{"word":"y"}"#, "application/json; charset=utf-8").status == 200)
            #expect(try await post(#"{"word":7}"#, "application/json").problem?.field == "word")
            let large = String(repeating: "x", count: SuiteLimits.body)
            #expect(try await post(#"{"word":"\#(large)"}"#, "application/json").status == 413)
        }
    }

    @Test func readinessTellsOfTheDatabase() async throws {
        try await withEcho { echo in
            #expect(try await echo.send(.get, "/ready").status == 200)

            await echo.database.pool.shutdown()

            let answer = try await echo.send(.get, "/ready")
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] != nil)
            #expect(try await echo.send(.get, "/health").status == 200)
        }
    }
}

@Suite struct IdempotencyTests {
    private let keys = TestKeys()
    private let alice = User.ID(application: RoostApplication.id, user: "alice")
    private let bob = User.ID(application: RoostApplication.id, user: "bob")

    private func withEcho(
        now: @escaping @Sendable () -> Date = { Date() },
        _ body: @Sendable (TestService) async throws -> Void
    ) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(keys))
        try await TestService.with(EchoService.self, neighbours: .with(["auth": auth]), now: now, body)
    }

    private func post(_ word: String, key: String, as user: User.ID, to echo: TestService) async throws -> TestAnswer {
        let headers: HTTPFields = [try #require(HTTPField.Name("Idempotency-Key")): key]
        let token = try await keys.token(for: user)
        return try await echo.send(.post, "/words", token: token, body: #"{"word":"\#(word)"}"#, headers: headers)
    }

    @Test func theSameKeyAndBodyGiveTheFirstAnswer() async throws {
        try await withEcho { echo in
            let first = try await post("one", key: "k", as: alice, to: echo)
            let second = try await post("one", key: "k", as: alice, to: echo)

            #expect(first.status == 200)
            #expect(second.status == 200)
            #expect(second.body == first.body)
        }
    }

    @Test func anotherBodyOrUserIsToldApart() async throws {
        try await withEcho { echo in
            _ = try await post("one", key: "k", as: alice, to: echo)

            #expect(try await post("two", key: "k", as: alice, to: echo).status == 422)
            #expect(try await post("three", key: "k", as: bob, to: echo).status == 200)
        }
    }

    @Test func aRefusalIsAnAnswerButAFailureMayBeTriedAgain() async throws {
        try await withEcho { echo in
            _ = try await post("taken", key: "first", as: alice, to: echo)
            #expect(try await post("taken", key: "k", as: alice, to: echo).status == 500)
            try await echo.database.pool.run("DELETE FROM words")

            #expect(try await post("taken", key: "k", as: alice, to: echo).status == 200)
        }
    }

    @Test func manyAtOnceAreDoneOnce() async throws {
        try await withEcho { echo in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await post("one", key: "k", as: alice, to: echo).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }

            #expect(Set(statuses).isSubset(of: [200, 409]))
            #expect(statuses.contains(200))
            #expect(try await echo.database.pool.one("SELECT count(*) AS n FROM words", as: { try $0.int("n") }) == 1)
        }
    }

    @Test func aKeyIsForgottenAfterADay() async throws {
        let offset = Mutex(0.0)
        try await withEcho(now: { Date().addingTimeInterval(offset.withLock { $0 }) }) { echo in
            _ = try await post("one", key: "k", as: alice, to: echo)
            offset.withLock { $0 = 86_401 }
            try await echo.database.pool.run("DELETE FROM words")

            let token = try await keys.token(for: alice, lifetime: 200_000)
            let headers: HTTPFields = [try #require(HTTPField.Name("Idempotency-Key")): "k"]
            let answer = try await echo.send(.post, "/words", token: token, body: #"{"word":"two"}"#, headers: headers)

            #expect(answer.status == 200)
        }
    }
}

@Suite struct CursorTests {
    private struct Position: Codable, Equatable { var seq: Int }
    private let alice = User.ID(application: "a", user: "bc")
    private let other = User.ID(application: "ab", user: "c")

    @Test func aCursorComesBackToItsListAndUserAlone() throws {
        let signer = CursorSigner(secret: TestService.secret)
        let cursor = try signer.sign(Position(seq: 7), of: "list", for: alice)

        #expect(try signer.position(cursor, of: "list", for: alice, as: Position.self) == Position(seq: 7))
        #expect(throws: APIError.self) { try signer.position(cursor, of: "list", for: other, as: Position.self) }
        #expect(throws: APIError.self) { try signer.position(cursor, of: "other", for: alice, as: Position.self) }
        for forged in ["", "x", String(cursor.dropLast()), "A" + cursor, String(repeating: "A", count: 2_000)] {
            #expect(throws: APIError.self) { try signer.position(forged, of: "list", for: alice, as: Position.self) }
        }
    }
}

@Suite struct PrometheusTests {
    @Test func seriesAreWrittenInTheTextFormat() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "roost.requests-total", dimensions: [("path", "a\"b\\c\nd")]).increment(by: 3)
        registry.makeTimer(label: "roost_seconds", dimensions: []).recordNanoseconds(2_000_000)

        let text = registry.text()

        #expect(
            text.contains("# TYPE roost_requests_total counter\nroost_requests_total{path=\"a\\\"b\\\\c\\nd\"} 3.0")
        )
        #expect(text.contains("roost_seconds_bucket{le=\"0.001\"} 0\n"))
        #expect(text.contains("roost_seconds_bucket{le=\"0.0025\"} 1\n"))
        #expect(text.contains("roost_seconds_bucket{le=\"+Inf\"} 1\nroost_seconds_sum 0.002\nroost_seconds_count 1\n"))
    }

    @Test func labelsWithTooManyValuesAreDropped() {
        let registry = PrometheusRegistry()
        for index in 0..<6_000 {
            registry.makeCounter(label: "many", dimensions: [("n", "\(index)")]).increment(by: 1)
        }

        #expect(registry.text().contains("roost_metrics_dropped_series 1000"))
    }
}
