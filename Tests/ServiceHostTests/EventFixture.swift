import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import Testing
import TestSupport
import Wire

/// A publisher and a subscriber, connected over HTTP, each with its own database.
struct EventFixture: Sendable {
    static let settings = ["EVENT_SUBSCRIBERS": "word.said=listener,word.takenback=listener"]

    /// Peers with a subscriber at this local port.
    func peers(at port: Int) throws -> PeerServices {
        let tokens = try ServiceTokens(secret: TestService.secret, name: "social")
        let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
        return .with([
            "auth": ServiceClient(callee: "auth", transport: AuthTransport(TestKeys())),
            "listener": ServiceClient(callee: "listener", transport: transport, retry: .never) {
                "Bearer \(try tokens.token(for: "listener"))"
            },
        ])
    }

    func withSubscriber(_ body: @Sendable (TestService) async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        try await TestService.with(SubscriberService.self, peers: .with(["auth": auth]), body)
    }

    func withPublisher(
        at port: Int,
        over database: TestDatabase? = nil,
        _ body: @Sendable (TestService) async throws -> Void
    ) async throws {
        let peers = try peers(at: port)
        guard let database else {
            return try await TestService.with(
                PublisherService.self,
                settings: Self.settings,
                peers: peers,
                body
            )
        }
        try await TestService.with(
            PublisherService.self,
            over: database,
            settings: Self.settings,
            peers: peers,
            body
        )
    }

    func publish(_ words: [WordPublished], at publisher: TestService) async throws {
        let body = String(
            decoding: try JSONEncoder().encode(PublisherService.PublishRequest(words: words)),
            as: UTF8.self
        )
        #expect(try await publisher.send(.post, "/speech", body: body).status == 200)
    }

    func words(_ count: Int, by speaker: String) -> [WordPublished] {
        (0..<count).map { WordPublished(speaker: speaker, word: "\(speaker)-\($0)") }
    }

    /// The received words by speaker and in order, once there are at least `count`.
    func received(_ count: Int, at subscriber: TestService) async throws -> [String: [String]] {
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            let received = try await subscriber.database.pool.all(
                "SELECT speaker, word FROM received_words ORDER BY place"
            ) {
                row in
                (try row.string("speaker"), try row.string("word"))
            }
            if received.count >= count { return Dictionary(grouping: received, by: \.0).mapValues { $0.map(\.1) } }
            guard ContinuousClock.now < deadline else { throw TestSupportError("only \(received.count) were received") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func waiting(at publisher: TestService) async throws -> Int {
        try await publisher.database.pool.one("SELECT count(*) AS n FROM event_outbox") { try $0.int("n") }
    }

    /// Waits until at most `count` events are waiting.
    func untilDelivered(but count: Int = 0, at publisher: TestService) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await waiting(at: publisher) > count {
            guard ContinuousClock.now < deadline else { throw TestSupportError("events are still waiting") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func untilAttempted(at publisher: TestService) async throws {
        // A failed delivery ends its claim, which sets `due_at`.
        let written = try await publisher.database.pool.one("SELECT max(due_at) AS due FROM event_outbox") {
            try $0.date("due")
        }
        let deadline = ContinuousClock.now + .seconds(120)
        while try await publisher.database.pool.one(
            "SELECT count(*) AS n FROM event_outbox WHERE due_at > \(written)",
            as: { try $0.int("n") }
        ) == 0 {
            guard ContinuousClock.now < deadline else { throw TestSupportError("no delivery was attempted") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
