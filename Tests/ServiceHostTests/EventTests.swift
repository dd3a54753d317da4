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

/// What one service tells and another hears, over HTTP, each with a database of its own.
@Suite struct EventTests {
    private let fixture = EventFixture()

    @Test func orderedDelivery() async throws {
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

    @Test func rolledBackEvent() async throws {
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

    /// Nobody is there, then somebody is; the teller is another one by then.
    @Test func deliveryAfterRestart() async throws {
        try await fixture.withSubscriber { subscriber in
            // One that nobody else is given while the listener is away.
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
                    // Long enough to be tried in vain.
                    try await fixture.untilAttempted(at: publisher)
                }
                try await publisher { publisher in try await fixture.publish(fixture.words(1, by: "bob"), at: publisher)
                }
                try await subscriber.served(on: port) { _ in
                    try await publisher { publisher in
                        try await fixture.untilDelivered(at: publisher)
                        let received = try await fixture.received(41, at: subscriber)
                        #expect(
                            received["ann"] == fixture.words(40, by: "ann").map(\.word) && received["bob"] == ["bob-0"]
                        )
                    }
                }
                // And once more, with the same teller at work while the listener goes and comes.
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

    /// Whoever told it died before it could note so, and another tells it again.
    @Test func duplicateDelivery() async throws {
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

    @Test func expiredClaim() async throws {
        try await fixture.withSubscriber { subscriber in
            // One that nobody else is given while the listener is away.
            let port = try LoopbackPort.free().number
            try await fixture.withPublisher(at: port) { publisher in
                try await fixture.publish(fixture.words(2, by: "ann"), at: publisher)
                // As if an instance had claimed the first and died: its claim is over in a moment.
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

    @Test func failedEvent() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                try await fixture.withPublisher(at: port) { publisher in
                    try await subscriber.database.pool.run("INSERT INTO deaf_to (word) VALUES ('ann-1')")
                    try await fixture.publish(fixture.words(3, by: "ann"), at: publisher)
                    try await fixture.publish(fixture.words(3, by: "bob"), at: publisher)

                    let received = try await fixture.received(4, at: subscriber)
                    #expect(received == ["ann": ["ann-0"], "bob": fixture.words(3, by: "bob").map(\.word)])
                    try await fixture.untilDelivered(but: 2, at: publisher)
                    #expect(try await fixture.waiting(at: publisher) == 2)
                    try await subscriber.database.pool.run("DELETE FROM deaf_to")
                    try await fixture.untilDelivered(at: publisher)
                    #expect(try await fixture.received(6, at: subscriber)["ann"] == ["ann-0", "ann-1", "ann-2"])
                }
            }
        }
    }

    /// A newer release may know what to do with it.
    @Test func unknownEvent() async throws {
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
                    Issue.record("taken")
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

    @Test func onlyServicesPublish() async throws {
        try await fixture.withSubscriber { subscriber in
            let body = #"{"id": "\#(UUID())", "type": "word.said", "at": "2026-11-21T00:00:00Z", "content": {}}"#
            let answer = try await subscriber.send(.post, "/internal/events", body: body)
            #expect(answer.status == 403)
        }
    }
}
