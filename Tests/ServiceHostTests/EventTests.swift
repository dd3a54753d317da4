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
    private let scene = EventScene()

    @Test func whatIsSaidIsHeardOnceAndInOrder() async throws {
        try await scene.withListener { listener in
            try await listener.served { port in
                try await scene.withTeller(at: port) { one in
                    try await scene.withTeller(at: port, over: one.database) { other in
                        let speakers = ["ann", "bob", "cy", "dee"]
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            for speaker in speakers {
                                group.addTask {
                                    for word in scene.words(25, by: speaker) {
                                        try await scene.say([word], at: Bool.random() ? one : other)
                                    }
                                }
                            }
                            try await group.waitForAll()
                        }
                        try await scene.untilTold(at: one)
                        let heard = try await scene.heard(100, at: listener)
                        for speaker in speakers {
                            #expect(heard[speaker] == scene.words(25, by: speaker).map(\.word))
                        }
                    }
                }
            }
        }
    }

    @Test func whatIsNotSoIsNotTold() async throws {
        try await scene.withListener { listener in
            try await listener.served { port in
                try await scene.withTeller(at: port) { teller in
                    var speech = TellerService.Speech(words: scene.words(3, by: "ann"))
                    speech.isRolledBack = true
                    let body = String(decoding: try JSONEncoder().encode(speech), as: UTF8.self)
                    #expect(try await teller.send(.post, "/speech", body: body).status == 409)
                    #expect(try await scene.waiting(at: teller) == 0)
                    try await scene.say(scene.words(1, by: "bob"), at: teller)
                    #expect(try await scene.heard(1, at: listener).keys.sorted() == ["bob"])
                }
            }
        }
    }

    /// Nobody is there, then somebody is; the teller is another one by then.
    @Test func whatNobodyTookIsKeptOverRestarts() async throws {
        try await scene.withListener { listener in
            // One that nobody else is given while the listener is away.
            let port = try LoopbackPort.free().number
            let neighbours = try scene.neighbours(at: port)
            try await TestDatabase.with(migrations: ServiceHost.migrations(of: TellerService.self)) { database in
                @Sendable func teller(_ body: @Sendable (TestService) async throws -> Void) async throws {
                    try await TestService.with(
                        TellerService.self,
                        over: database,
                        settings: EventScene.settings,
                        neighbours: neighbours,
                        body
                    )
                }
                try await teller { teller in
                    try await scene.say(scene.words(40, by: "ann"), at: teller)
                    // Long enough to be tried in vain.
                    try await scene.untilTried(at: teller)
                }
                try await teller { teller in try await scene.say(scene.words(1, by: "bob"), at: teller) }
                try await listener.served(on: port) { _ in
                    try await teller { teller in
                        try await scene.untilTold(at: teller)
                        let heard = try await scene.heard(41, at: listener)
                        #expect(heard["ann"] == scene.words(40, by: "ann").map(\.word) && heard["bob"] == ["bob-0"])
                    }
                }
                // And once more, with the same teller at work while the listener goes and comes.
                try await teller { teller in
                    try await scene.say(scene.words(5, by: "cy"), at: teller)
                    try await listener.served(on: port) { _ in try await scene.untilTold(at: teller) }
                    try await scene.say(scene.words(5, by: "dee"), at: teller)
                    try await scene.untilTried(at: teller)
                    try await listener.served(on: port) { _ in try await scene.untilTold(at: teller) }
                    #expect(try await scene.heard(51, at: listener)["dee"] == scene.words(5, by: "dee").map(\.word))
                }
            }
        }
    }

    /// Whoever told it died before it could note so, and another tells it again.
    @Test func whatIsToldTwiceIsDoneOnce() async throws {
        try await scene.withListener { listener in
            let client = try listener.neighbour("social", callee: "listener")
            let content: JSONValue = .object(["speaker": .string("ann"), "word": .string("hello")])
            let event = Event(id: UUID(), type: WordSaid.type, at: Date(), content: content)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let answer: [String: Bool] = try await client.post("/internal/events", event)
                        #expect(answer == ["success": true])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await scene.heard(1, at: listener) == ["ann": ["hello"]])
        }
    }

    @Test func aClaimThatNobodySettledEnds() async throws {
        try await scene.withListener { listener in
            // One that nobody else is given while the listener is away.
            let port = try LoopbackPort.free().number
            try await scene.withTeller(at: port) { teller in
                try await scene.say(scene.words(2, by: "ann"), at: teller)
                // As if an instance had claimed the first and died: its claim is over in a moment.
                try await teller.database.pool.run(
                    """
                    UPDATE event_outbox SET due_at = clock_timestamp() + interval '1 second', attempts = attempts + 1
                    WHERE outbox_id = (SELECT min(outbox_id) FROM event_outbox)
                    """
                )
                try await listener.served(on: port) { _ in
                    try await scene.untilTold(at: teller)
                    #expect(try await scene.heard(2, at: listener)["ann"] == ["ann-0", "ann-1"])
                }
            }
        }
    }

    @Test func whatFailsIsUndoneAndHoldsUpNobodyElse() async throws {
        try await scene.withListener { listener in
            try await listener.served { port in
                try await scene.withTeller(at: port) { teller in
                    try await listener.database.pool.run("INSERT INTO deaf_to (word) VALUES ('ann-1')")
                    try await scene.say(scene.words(3, by: "ann"), at: teller)
                    try await scene.say(scene.words(3, by: "bob"), at: teller)

                    let heard = try await scene.heard(4, at: listener)
                    #expect(heard == ["ann": ["ann-0"], "bob": scene.words(3, by: "bob").map(\.word)])
                    try await scene.untilTold(but: 2, at: teller)
                    #expect(try await scene.waiting(at: teller) == 2)
                    try await listener.database.pool.run("DELETE FROM deaf_to")
                    try await scene.untilTold(at: teller)
                    #expect(try await scene.heard(6, at: listener)["ann"] == ["ann-0", "ann-1", "ann-2"])
                }
            }
        }
    }

    /// A newer release may know what to do with it.
    @Test func whatIsNotUnderstoodWaits() async throws {
        try await scene.withListener { listener in
            try await listener.served { port in
                try await scene.withTeller(at: port) { teller in
                    let speech = TellerService.Speech(
                        words: scene.words(1, by: "bob"),
                        takenBack: [.init(speaker: "ann")]
                    )
                    let body = String(decoding: try JSONEncoder().encode(speech), as: UTF8.self)
                    #expect(try await teller.send(.post, "/speech", body: body).status == 200)
                    try await scene.untilTold(but: 1, at: teller)
                    #expect(try await scene.heard(1, at: listener) == ["bob": ["bob-0"]])
                    #expect(try await scene.waiting(at: teller) == 1)
                }
            }
            let client = try listener.neighbour("social", callee: "listener")
            let event = Event(id: UUID(), type: "word.forgotten", at: Date(), content: .object([:]))
            let content: JSONValue = .object(["speaker": .string("ann")])
            let malformed = Event(id: UUID(), type: WordSaid.type, at: Date(), content: content)
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
        try await scene.withListener { listener in
            let client = try listener.neighbour("photos", callee: "listener")
            let content: JSONValue = .object(["speaker": .string("ann"), "word": .string("hello")])
            let event = Event(id: UUID(), type: WordSaid.type, at: Date(), content: content)
            let error = await #expect(throws: APIError.self) {
                let _: [String: Bool] = try await client.post("/internal/events", event)
            }
            #expect(error?.code == "caller_not_allowed")
            // The same event from its publisher is processed: the rejected request left no record.
            let publisher = try listener.neighbour("social", callee: "listener")
            let _: [String: Bool] = try await publisher.post("/internal/events", event)
            #expect(try await scene.heard(1, at: listener) == ["ann": ["hello"]])
        }
    }

    @Test func onlyServicesTellEvents() async throws {
        try await scene.withListener { listener in
            let body = #"{"id": "\#(UUID())", "type": "word.said", "at": "2026-11-21T00:00:00Z", "content": {}}"#
            let answer = try await listener.send(.post, "/internal/events", body: body)
            #expect(answer.status == 403)
        }
    }
}
