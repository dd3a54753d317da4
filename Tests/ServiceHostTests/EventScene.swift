import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import Testing
import TestSupport
import Wire

/// A teller and a listener, over HTTP, each with a database of its own.
struct EventScene: Sendable {
    static let settings = ["EVENT_SUBSCRIBERS": "word.said=listener,word.takenback=listener"]

    /// The listener, at a port of this machine.
    func neighbours(at port: Int) throws -> Neighbours {
        let tokens = try ServiceTokens(secret: TestService.secret, name: "social")
        let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
        return .with([
            "auth": ServiceClient(callee: "auth", transport: AuthTransport(TestKeys())),
            "listener": ServiceClient(callee: "listener", transport: transport, retry: .never) {
                "Bearer \(try tokens.token(for: "listener"))"
            },
        ])
    }

    func withListener(_ body: @Sendable (TestService) async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        try await TestService.with(ListenerService.self, neighbours: .with(["auth": auth]), body)
    }

    func withTeller(
        at port: Int,
        over database: TestDatabase? = nil,
        _ body: @Sendable (TestService) async throws -> Void
    ) async throws {
        let neighbours = try neighbours(at: port)
        guard let database else {
            return try await TestService.with(
                TellerService.self,
                settings: Self.settings,
                neighbours: neighbours,
                body
            )
        }
        try await TestService.with(
            TellerService.self,
            over: database,
            settings: Self.settings,
            neighbours: neighbours,
            body
        )
    }

    func say(_ words: [WordSaid], at teller: TestService) async throws {
        let body = String(decoding: try JSONEncoder().encode(TellerService.Speech(words: words)), as: UTF8.self)
        #expect(try await teller.send(.post, "/speech", body: body).status == 200)
    }

    func words(_ count: Int, by speaker: String) -> [WordSaid] {
        (0..<count).map { WordSaid(speaker: speaker, word: "\(speaker)-\($0)") }
    }

    /// What was heard, by speaker, in order, once there is so much of it.
    func heard(_ count: Int, at listener: TestService) async throws -> [String: [String]] {
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            let heard = try await listener.database.pool.all("SELECT speaker, word FROM heard ORDER BY place") { row in
                (try row.string("speaker"), try row.string("word"))
            }
            if heard.count >= count { return Dictionary(grouping: heard, by: \.0).mapValues { $0.map(\.1) } }
            guard ContinuousClock.now < deadline else { throw TestSupportError("only \(heard.count) were heard") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func waiting(at teller: TestService) async throws -> Int {
        try await teller.database.pool.one("SELECT count(*) AS n FROM event_outbox") { try $0.int("n") }
    }

    /// Returns once only so many wait.
    func untilTold(but count: Int = 0, at teller: TestService) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await waiting(at: teller) > count {
            guard ContinuousClock.now < deadline else { throw TestSupportError("events still wait") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func untilTried(at teller: TestService) async throws {
        // A claim that came to nothing is given back, and leaves the time of its end behind.
        let written = try await teller.database.pool.one("SELECT max(due_at) AS due FROM event_outbox") {
            try $0.date("due")
        }
        let deadline = ContinuousClock.now + .seconds(120)
        while try await teller.database.pool.one(
            "SELECT count(*) AS n FROM event_outbox WHERE due_at > \(written)",
            as: { try $0.int("n") }
        ) == 0 {
            guard ContinuousClock.now < deadline else { throw TestSupportError("nothing was tried") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
