import ChildProcesses
import Configuration
import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import Testing
import TestSupport
import Wire

/// Events from one service to another over HTTP, each with its own database.
@Suite("Events between services") struct EventTests {
    private let fixture = EventFixture()

    @Test("Events of one key arrive in order, also from two instances")
    func orderedDelivery() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                try await fixture.withPublisher(at: port) { one in
                    try await fixture.withPublisher(at: port, over: one.database) { other in
                        let speakers = ["ann", "bob", "cy", "dee"]
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            for speaker in speakers {
                                group.addTask {
                                    for word in fixture.words(25, by: speaker) {
                                        try await fixture.publish([word], at: Bool.random() ? one : other)
                                    }
                                }
                            }
                            try await group.waitForAll()
                        }
                        try await fixture.untilDelivered(at: one)
                        let received = try await fixture.received(100, at: subscriber)
                        for speaker in speakers {
                            #expect(received[speaker] == fixture.words(25, by: speaker).map(\.word))
                        }
                    }
                }
            }
        }
    }

    @Test("An event of a rolled-back transaction is not published")
    func rolledBackEvent() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                try await fixture.withPublisher(at: port) { publisher in
                    var publishRequest = PublisherService.PublishRequest(words: fixture.words(3, by: "ann"))
                    publishRequest.isRolledBack = true
                    let body = String(decoding: try JSONEncoder().encode(publishRequest), as: UTF8.self)
                    #expect(try await publisher.send(.post, "/speech", body: body).status == 409)
                    #expect(try await fixture.waiting(at: publisher) == 0)
                    try await fixture.publish(fixture.words(1, by: "bob"), at: publisher)
                    #expect(try await fixture.received(1, at: subscriber).keys.sorted() == ["bob"])
                }
            }
        }
    }

    /// The subscriber is down at first, and the publisher restarts meanwhile.
    @Test("Events arrive once the subscriber is up, also after restarts of both")
    func deliveryAfterRestart() async throws {
        try await fixture.withSubscriber { subscriber in
            // A port that is not given out again while the subscriber is down.
            let port = try LoopbackPort.free().number
            let peers = try fixture.peers(at: port)
            try await TestDatabase.with(migrations: ServiceHost.migrations(of: PublisherService.self)) { database in
                @Sendable func publisher(_ body: @Sendable (TestService) async throws -> Void) async throws {
                    try await TestService.with(
                        PublisherService.self,
                        over: database,
                        settings: EventFixture.settings,
                        peers: peers,
                        body
                    )
                }
                try await publisher { publisher in
                    try await fixture.publish(fixture.words(40, by: "ann"), at: publisher)
                    // Long enough for a failed attempt.
                    try await fixture.untilAttempted(at: publisher)
                }
                try await publisher { publisher in try await fixture.publish(fixture.words(1, by: "bob"), at: publisher)
                }
                try await subscriber.served(on: port) { _ in
                    try await publisher { publisher in
                        try await fixture.untilDelivered(at: publisher)
                        let received = try await fixture.received(41, at: subscriber)
                        #expect(received["ann"] == fixture.words(40, by: "ann").map(\.word))
                        #expect(received["bob"] == ["bob-0"])
                    }
                }
                // Once more with one publisher, while the subscriber stops and starts.
                try await publisher { publisher in
                    try await fixture.publish(fixture.words(5, by: "cy"), at: publisher)
                    try await subscriber.served(on: port) { _ in try await fixture.untilDelivered(at: publisher) }
                    try await fixture.publish(fixture.words(5, by: "dee"), at: publisher)
                    try await fixture.untilAttempted(at: publisher)
                    try await subscriber.served(on: port) { _ in try await fixture.untilDelivered(at: publisher) }
                    #expect(
                        try await fixture.received(51, at: subscriber)["dee"] == fixture.words(5, by: "dee").map(\.word)
                    )
                }
            }
        }
    }

    /// An instance may crash after delivery and before it records it, so another one delivers again.
    @Test("An event that is delivered several times has one effect")
    func duplicateDelivery() async throws {
        try await fixture.withSubscriber { subscriber in
            let client = try subscriber.peerClient("social", callee: "listener")
            let content: JSONValue = .object(["speaker": .string("ann"), "word": .string("hello")])
            let event = Event(id: UUID(), type: WordPublished.type, at: Date(), content: content)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let answer: [String: Bool] = try await client.post("/internal/events", event)
                        #expect(answer == ["success": true])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.received(1, at: subscriber) == ["ann": ["hello"]])
        }
    }

    @Test("An event whose claim expired is delivered in order")
    func expiredClaim() async throws {
        try await fixture.withSubscriber { subscriber in
            // A port that is not given out again while the subscriber is down.
            let port = try LoopbackPort.free().number
            try await fixture.withPublisher(at: port) { publisher in
                try await fixture.publish(fixture.words(2, by: "ann"), at: publisher)
                // As if an instance had claimed the first event and crashed: the claim expires in a second.
                try await publisher.database.pool.run(
                    """
                    UPDATE event_outbox SET due_at = clock_timestamp() + interval '1 second', attempts = attempts + 1
                    WHERE outbox_id = (SELECT min(outbox_id) FROM event_outbox)
                    """
                )
                try await subscriber.served(on: port) { _ in
                    try await fixture.untilDelivered(at: publisher)
                    #expect(try await fixture.received(2, at: subscriber)["ann"] == ["ann-0", "ann-1"])
                }
            }
        }
    }

    @Test("An event that fails delays only later events of its key")
    func failedEvent() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                try await fixture.withPublisher(at: port) { publisher in
                    try await subscriber.database.pool.run("INSERT INTO refused_words (word) VALUES ('ann-1')")
                    try await fixture.publish(fixture.words(3, by: "ann"), at: publisher)
                    try await fixture.publish(fixture.words(3, by: "bob"), at: publisher)

                    let received = try await fixture.received(4, at: subscriber)
                    #expect(received == ["ann": ["ann-0"], "bob": fixture.words(3, by: "bob").map(\.word)])
                    try await fixture.untilDelivered(but: 2, at: publisher)
                    #expect(try await fixture.waiting(at: publisher) == 2)
                    try await subscriber.database.pool.run("DELETE FROM refused_words")
                    try await fixture.untilDelivered(at: publisher)
                    #expect(try await fixture.received(6, at: subscriber)["ann"] == ["ann-0", "ann-1", "ann-2"])
                }
            }
        }
    }

    /// A newer release may know how to handle it.
    @Test("An unknown event waits, and a malformed one is refused")
    func unknownEvent() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                try await fixture.withPublisher(at: port) { publisher in
                    let publishRequest = PublisherService.PublishRequest(
                        words: fixture.words(1, by: "bob"),
                        retracted: [.init(speaker: "ann")]
                    )
                    let body = String(decoding: try JSONEncoder().encode(publishRequest), as: UTF8.self)
                    #expect(try await publisher.send(.post, "/speech", body: body).status == 200)
                    try await fixture.untilDelivered(but: 1, at: publisher)
                    #expect(try await fixture.received(1, at: subscriber) == ["bob": ["bob-0"]])
                    #expect(try await fixture.waiting(at: publisher) == 1)
                }
            }
            let client = try subscriber.peerClient("social", callee: "listener")
            let event = Event(id: UUID(), type: "word.forgotten", at: Date(), content: .object([:]))
            let content: JSONValue = .object(["speaker": .string("ann")])
            let malformed = Event(id: UUID(), type: WordPublished.type, at: Date(), content: content)
            for (event, code) in [(event, "unknown_event"), (malformed, "missing_field")] {
                do {
                    let _: [String: Bool] = try await client.post("/internal/events", event)
                    Issue.record("accepted")
                } catch let error as APIError {
                    #expect(error.code == code)
                }
            }
        }
    }

    @Test("An event from a service that does not publish its type is rejected and has no effect")
    func wrongPublisher() async throws {
        try await fixture.withSubscriber { subscriber in
            let client = try subscriber.peerClient("photos", callee: "listener")
            let content: JSONValue = .object(["speaker": .string("ann"), "word": .string("hello")])
            let event = Event(id: UUID(), type: WordPublished.type, at: Date(), content: content)
            let error = await #expect(throws: APIError.self) {
                let _: [String: Bool] = try await client.post("/internal/events", event)
            }
            #expect(error?.code == "caller_not_allowed")
            // The same event from its publisher is processed: the rejected request left no record.
            let publisher = try subscriber.peerClient("social", callee: "listener")
            let _: [String: Bool] = try await publisher.post("/internal/events", event)
            #expect(try await fixture.received(1, at: subscriber) == ["ann": ["hello"]])
        }
    }

    @Test("Only services deliver events")
    func onlyServicesPublish() async throws {
        try await fixture.withSubscriber { subscriber in
            let body = #"{"id": "\#(UUID())", "type": "word.said", "at": "2026-11-21T00:00:00Z", "content": {}}"#
            let answer = try await subscriber.send(.post, "/internal/events", body: body)
            #expect(answer.status == 403)
        }
    }
}
