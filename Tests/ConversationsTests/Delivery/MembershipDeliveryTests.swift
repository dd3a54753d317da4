import ConversationsAPI
import Foundation
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Users who join or leave while they are connected.
@Suite("Delivery to changing members") struct MembershipDeliveryTests {
    @Test("A kicked user receives every message up to the kick, and none after it")
    func afterKick() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (bo, cat) = (try await two.connect("bo"), try await two.connect("cat"))
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let isOver = SharedValue(false)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    defer { isOver.change { $0 = true } }
                    for _ in 0..<4 {
                        tasks.addTask {
                            while !isOver.value {
                                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana)
                            }
                        }
                    }
                    try await bo.waitForMessage(upTo: 20)
                    _ = try await one.members.kick("bo", from: token, by: ana)
                    // Reads the whole history, because many messages may have been written after bo was removed.
                    let written = try await one.messages.history(token, to: ana, HistorySpan(count: .max))
                    let kick = try #require(written.first { $0.senderUser == nil })
                    try await cat.waitForMessage(upTo: Int(kick.seq) + 20)
                    isOver.change { $0 = true }
                    try await tasks.waitForAll()

                    #expect(bo.socket.seqs == Array(1...Int(kick.seq)))
                    #expect(bo.socket.texts().last?.contains("user.kicked") == true)
                    #expect(!two.delivery.connections.isIn(token.id, bo.connection))
                    // Read only once, because later messages may still arrive.
                    let received = cat.socket.seqs
                    #expect(received == Array(1...received.count))
                }
            }
        }
    }

    @Test("A user who leaves receives the message about it, and none after it")
    func leave() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (bo, cat) = (try await two.connect("bo"), try await one.connect("cat"))
                _ = try await one.members.leave(fixture.conversation, StoreFixture.user("bo"))
                try await cat.send("Bo has left", in: fixture.conversation)
                try await cat.send("really", in: fixture.conversation)
                try await bo.waitForMessage(upTo: 1)
                try await eventually { two.delivery.connections.conversations.isEmpty }
                #expect(bo.socket.seqs == [1])
            }
        }
    }

    @Test("A user who joins receives the messages from the join on", arguments: [true, false])
    func join(othersAreThere: Bool) async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let dan = try await two.connect("dan")
                let bo = othersAreThere ? try await two.connect("bo") : nil
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                for _ in 0..<3 { _ = try await one.messages.send(MessageDraft(data: "before"), to: token, by: ana) }
                try await bo?.waitForMessage(upTo: 3)

                _ = try await one.members.join(token, StoreFixture.user("dan"))
                for _ in 0..<3 { _ = try await one.messages.send(MessageDraft(data: "after"), to: token, by: ana) }

                try await dan.waitForMessage(upTo: 7)
                #expect(dan.socket.seqs == [4, 5, 6, 7])
                #expect(dan.socket.texts().first?.contains("user.joined") == true)
                try await bo?.waitForMessage(upTo: 7)
                #expect(bo.map { $0.socket.seqs == Array(1...7) } ?? true)
            }
        }
    }

    @Test("The members of a new conversation receive its messages from the first")
    func newConversation() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [
                    try await one.connect("ana"), try await two.connect("bo"), try await one.connect("eve"),
                ]
                let draft = ConversationDraft(label: "New", members: ["bo", "eve"])
                let made = try await one.conversations.create(draft, by: StoreFixture.user("ana"))
                let token = try #require(ConversationToken(made.token))
                for number in 1...5 {
                    _ = try await two.messages.send(
                        MessageDraft(data: "\(number)"),
                        to: token,
                        by: StoreFixture.user("bo")
                    )
                }
                for client in clients {
                    try await eventually { client.socket.allSeqs.count >= 5 }
                    #expect(client.socket.allSeqs == [1, 2, 3, 4, 5])
                }
            }
        }
    }

    @Test("The periodic sweep delivers a join whose notification was lost")
    func missedJoin() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, two in
                let (dan, eve) = (try await two.connect("dan"), try await two.connect("eve"))
                _ = try await one.members.join(fixture.conversation, StoreFixture.user("dan"))
                let pair = ConversationDraft(members: ["dan"], type: "direct")
                _ = try await one.conversations.create(pair, by: StoreFixture.user("ana"))

                try await two.delivery.sweepJoins()
                try await dan.waitForMessage(upTo: 1)

                #expect(two.delivery.connections.conversations.count == 2)
                #expect(dan.socket.texts().first?.contains("user.joined") == true)
                #expect(eve.socket.received.isEmpty)
                try await two.delivery.sweepJoins()
                #expect(dan.socket.received(.message).count == 1)
                #expect(dan.socket.received(.joined).count == 2)
            }
        }
    }

    /// A new instance reads the joins of the last seconds while clients reconnect to it.
    @Test("A client that reconnects to a new instance receives each message once")
    func noDuplicateAfterJoin() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let ana = StoreFixture.user("ana")
                let draft = ConversationDraft(label: "New", members: ["bo"])
                let made = try await one.conversations.create(draft, by: ana)
                let token = try #require(ConversationToken(made.token))
                for _ in 0..<3 {
                    try await withThrowingTaskGroup(of: Void.self) { tasks in
                        for _ in 0..<100 {
                            tasks.addTask {
                                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana)
                            }
                        }
                        try await tasks.waitForAll()
                    }
                }
                for round in 0..<10 {
                    let started = Instance("\(round)", over: fixture.pool, bus: fixture.bus("\(round)"))
                    async let client = started.connect("bo", last: [token.id: 1])
                    try await eventually { !started.delivery.connections.isEmpty }
                    try await started.delivery.sweepJoins()
                    let bo = try await client
                    let missed = bo.socket.received(.sync).flatMap { $0["messages"].array }
                    #expect(missed.compactMap { $0["seq"].int } == Array(2...300))
                    #expect(started.delivery.connections.isIn(token.id, bo.connection))
                    started.delivery.queue.stop()
                }
            }
        }
    }

    @Test("A join or departure during sign-in is applied to the new socket")
    func membershipDuringSignIn() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (token, bo) = (fixture.conversation, StoreFixture.user("bo"))
                let cat = try await two.connect("cat")
                for round in 0..<30 {
                    async let client = two.connect("bo", device: "\(round)")
                    async let change =
                        round % 2 == 0
                        ? one.members.leave(token, bo) : one.members.join(token, bo)
                    let (arrived, _) = (try await client, try await change)
                    let isIn = round % 2 == 1
                    try await eventually { two.delivery.connections.isIn(token.id, arrived.connection) == isIn }
                    arrived.leave()
                }
                try await cat.waitForMessage(upTo: 30)
                #expect(cat.socket.seqs == Array(1...30))
            }
        }
    }
}
