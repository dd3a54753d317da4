import ConversationsAPI
@testable import ConversationsServer
import EventBus
import Foundation
import Locks
import Postgres
import ServiceHost
import Synchronization
import TestSupport
import Testing
import Wire

/// What the sockets of two instances are told.
@Suite struct DeliveryTests {
    /// A conversation is found deleted while somebody comes back into it.
    @Test func joinDuringClose() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, _ in
                let queue = one.delivery.queue
                let gone = Room(Conversation.ID(1 << 40), of: StoreFixture.user("ann").application, change: 0, seq: 0)
                #expect(gone.notify(Room.anyChange))
                let coming = Mutex<Task<Bool, any Error>?>(nil)
                async let first = queue.whilePaused(gone) {
                    // What comes now comes after what was to be done before the reading was taken.
                    coming.withLock { $0 = Task { try await queue.whilePaused(gone) { true } } }
                    try await eventually { gone.state.withLock { !$0.exclusiveTasks.isEmpty } }
                    return true
                }
                try await eventually { gone.state.withLock { !$0.exclusiveTasks.isEmpty } }
                queue.add([gone])

                #expect(try await first)
                let second = try #require(coming.withLock { $0 })
                #expect(try await within(.seconds(60)) { try await second.cancellableValue })
                try await eventually { gone.isIdle }
            }
        }
    }

    @Test func orderAcrossInstances() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [
                    try await one.connect("ann"), try await two.connect("bob"), try await one.connect("cat"),
                    try await two.connect("cat", device: "another"),
                ]
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<12 {
                        let (instance, name) = (writer % 2 == 0 ? one : two, ["ann", "bob", "cat"][writer % 3])
                        tasks.addTask {
                            for number in 0..<20 {
                                _ = try await instance.messages.send(
                                    MessageDraft(data: "\(writer)/\(number)"),
                                    to: fixture.conversation,
                                    by: StoreFixture.user(name)
                                )
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }
                for client in clients {
                    try await client.waitForMessage(upTo: 240)
                    #expect(client.socket.seqs == Array(1...240))
                    let changes = client.socket.changes
                    #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 < $1 })
                }
            }
        }
    }

    @Test func otherDevices() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let telephone = try await one.connect("ann", device: "telephone")
                let tablet = try await one.connect("ann", device: "tablet")
                let laptop = try await two.connect("ann", device: "laptop")

                for number in 1...50 { try await telephone.send("\(number)", in: fixture.conversation) }
                _ = try await two.messages.send(
                    MessageDraft(data: "last"),
                    to: fixture.conversation,
                    by: StoreFixture.user("bob")
                )

                for client in [tablet, laptop] {
                    try await client.waitForMessage(upTo: 51)
                    #expect(client.socket.seqs == Array(1...51))
                }
                try await telephone.waitForMessage(upTo: 51)
                #expect(telephone.socket.seqs == [51])
            }
        }
    }

    @Test func resentMessage() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (ann, bob) = (try await one.connect("ann"), try await two.connect("bob"))

                let first = try await ann.send("once", in: fixture.conversation, id: "1")
                let second = try await ann.send("once", in: fixture.conversation, id: "1")
                try await ann.send("twice", in: fixture.conversation, id: "2")

                #expect(first.id == second.id)
                try await bob.waitForMessage(upTo: 2)
                #expect(bob.socket.seqs == [1, 2])
                #expect(ann.socket.seqs.isEmpty)
            }
        }
    }

    @Test func parityWithREST() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (here, there) = (try await one.connect("bob"), try await two.connect("cat"))
                let draft = MessageDraft(data: "\"hello\"\n☂️", meta: .object(["a": .integer(1)]), clientMessageId: "x")
                let sent = try await one.messages.send(draft, to: fixture.conversation, by: StoreFixture.user("ann"))

                for client in [here, there] {
                    try await client.waitForMessage(upTo: 1)
                    let told = try #require(client.socket.received(.message).first)
                    #expect(try WireJSON.decode(Message.self, from: Array(told.compact())) == sent)
                }
            }
        }
    }

    @Test func editsReactionsDeletionsAndMarksAreToldInTheirOrder() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let bob = try await two.connect("bob")
                let (token, ann) = (fixture.conversation, StoreFixture.user("ann"))
                let message = try await one.messages.send(MessageDraft(data: "helo"), to: token, by: ann)
                try await bob.waitForMessage(upTo: 1)

                func step(_ count: Int, _ body: () async throws -> Void) async throws {
                    try await body()
                    try await eventually { bob.socket.received.count >= count }
                }
                try await step(2) {
                    _ = try await one.messages.edit(message.id, in: token, to: MessageChanges(data: "hello"), by: ann)
                }
                try await step(3) {
                    _ = try await one.messages.react("👋", to: message.id, in: token, by: StoreFixture.user("cat"))
                }
                try await step(4) {
                    _ = try await one.messages.markRead(message.id, in: token, by: StoreFixture.user("cat"))
                }
                try await step(5) { _ = try await one.messages.delete(message.id, in: token, by: ann) }

                let received = bob.socket.received
                #expect(
                    received.map(\.name) == [.message, .messageUpdated, .messageUpdated, .messageRead, .messageUpdated]
                )
                #expect(received[1].json["data"].string == "hello")
                #expect(received[2].json["reactions"]["👋"][0].string == "cat")
                #expect(received[3].json["userId"].string == "cat")
                #expect(received[3].json["seq"].int == 1)
                #expect(received[3].json["chatId"].int == Int(token.id.rawValue))
                #expect(received[4].json["deletedAt"].string != nil)
                #expect(bob.socket.changes == [1, 2, 3, 4, 5])
            }
        }
    }

    @Test func stranger() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (bob, eve) = (try await one.connect("bob"), try await two.connect("eve"))
                _ = try await two.messages.send(
                    MessageDraft(data: "x"),
                    to: fixture.conversation,
                    by: StoreFixture.user("ann")
                )
                try await bob.waitForMessage(upTo: 1)
                #expect(eve.socket.received.isEmpty)
            }
        }
    }

    @Test func noMembersLeft() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [try await one.connect("ann"), try await two.connect("bob")]
                _ = try await one.conversations.delete(fixture.conversation, by: StoreFixture.user("ann"))
                for client in clients {
                    let connections = client.instance.delivery.connections
                    try await eventually { connections.conversations.isEmpty }
                    #expect(!connections.isIn(fixture.conversation.id, client.connection))
                }
            }
        }
    }

    @Test func sessionEnd() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let ann = try await one.connect("ann", session: "old")
                let again = try await one.connect("ann", session: "new")

                one.end(session: "old")

                #expect(ann.socket.isEnded)
                #expect(!again.socket.isEnded)
                await #expect(throws: APIError.self) { _ = try await one.connect("ann", session: "old") }
                #expect(one.delivery.connections.of(session: "old") == [ann.connection])
            }
        }
    }
}

extension HistorySpan {
    /// The one message of a `seq`.
    static func only(_ seq: Int64) -> HistorySpan {
        var span = HistorySpan()
        span.count = 1
        span.beforeSeq = seq + 1
        return span
    }
}
