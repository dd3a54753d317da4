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

/// The events that the sockets of two instances receive.
@Suite("Delivery") struct DeliveryTests {
    @Test("A task that waits for a closing room runs once the room has closed")
    func joinDuringClose() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, _ in
                let queue = one.delivery.queue
                let gone = Room(Conversation.ID(1 << 40), of: StoreFixture.user("ana").application, change: 0, seq: 0)
                #expect(gone.notify(Room.anyChange))
                let secondTask = Mutex<Task<Bool, any Error>?>(nil)
                async let first = queue.whilePaused(gone) {
                    // The second task starts after the first one, which runs before the read.
                    secondTask.withLock { $0 = Task { try await queue.whilePaused(gone) { true } } }
                    try await eventually { gone.state.withLock { !$0.exclusiveTasks.isEmpty } }
                    return true
                }
                try await eventually { gone.state.withLock { !$0.exclusiveTasks.isEmpty } }
                queue.add([gone])

                #expect(try await first)
                let second = try #require(secondTask.withLock { $0 })
                #expect(try await within(.seconds(60)) { try await second.cancellableValue })
                try await eventually { gone.isIdle }
            }
        }
    }

    @Test("Sockets of all instances receive every message in order")
    func orderAcrossInstances() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [
                    try await one.connect("ana"), try await two.connect("bo"), try await one.connect("cat"),
                    try await two.connect("cat", device: "another"),
                ]
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<12 {
                        let (instance, name) = (writer % 2 == 0 ? one : two, ["ana", "bo", "cat"][writer % 3])
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

    @Test("A sender's other devices receive the message, the sending device does not")
    func otherDevices() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let phone = try await one.connect("ana", device: "phone")
                let tablet = try await one.connect("ana", device: "tablet")
                let laptop = try await two.connect("ana", device: "laptop")

                for number in 1...50 { try await phone.send("\(number)", in: fixture.conversation) }
                _ = try await two.messages.send(
                    MessageDraft(data: "last"),
                    to: fixture.conversation,
                    by: StoreFixture.user("bo")
                )

                for client in [tablet, laptop] {
                    try await client.waitForMessage(upTo: 51)
                    #expect(client.socket.seqs == Array(1...51))
                }
                try await phone.waitForMessage(upTo: 51)
                #expect(phone.socket.seqs == [51])
            }
        }
    }

    @Test("A message that is sent twice with the same client id is delivered once")
    func resentMessage() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (ana, bo) = (try await one.connect("ana"), try await two.connect("bo"))

                let first = try await ana.send("once", in: fixture.conversation, id: "1")
                let second = try await ana.send("once", in: fixture.conversation, id: "1")
                try await ana.send("twice", in: fixture.conversation, id: "2")

                #expect(first.id == second.id)
                try await bo.waitForMessage(upTo: 2)
                #expect(bo.socket.seqs == [1, 2])
                #expect(ana.socket.seqs.isEmpty)
            }
        }
    }

    @Test("A delivered message equals the message of the REST response")
    func parityWithREST() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (here, there) = (try await one.connect("bo"), try await two.connect("cat"))
                let draft = MessageDraft(data: "\"hello\"\n☂️", meta: .object(["a": .integer(1)]), clientMessageId: "x")
                let sent = try await one.messages.send(draft, to: fixture.conversation, by: StoreFixture.user("ana"))

                for client in [here, there] {
                    try await client.waitForMessage(upTo: 1)
                    let delivered = try #require(client.socket.received(.message).first)
                    #expect(try WireJSON.decode(Message.self, from: Array(delivered.compact())) == sent)
                }
            }
        }
    }

    @Test("Edits, reactions, read marks and deletions are delivered in order")
    func changeOrder() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let bo = try await two.connect("bo")
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let message = try await one.messages.send(MessageDraft(data: "helo"), to: token, by: ana)
                try await bo.waitForMessage(upTo: 1)

                func step(_ count: Int, _ body: () async throws -> Void) async throws {
                    try await body()
                    try await eventually { bo.socket.received.count >= count }
                }
                try await step(2) {
                    _ = try await one.messages.edit(message.id, in: token, to: MessageChanges(data: "hello"), by: ana)
                }
                try await step(3) {
                    _ = try await one.messages.react("👋", to: message.id, in: token, by: StoreFixture.user("cat"))
                }
                try await step(4) {
                    _ = try await one.messages.markRead(message.id, in: token, by: StoreFixture.user("cat"))
                }
                try await step(5) { _ = try await one.messages.delete(message.id, in: token, by: ana) }

                let received = bo.socket.received
                #expect(
                    received.map(\.name) == [.message, .messageUpdated, .messageUpdated, .messageRead, .messageUpdated]
                )
                #expect(received[1].json["data"].string == "hello")
                #expect(received[2].json["reactions"]["👋"][0].string == "cat")
                #expect(received[3].json["userId"].string == "cat")
                #expect(received[3].json["seq"].int == 1)
                #expect(received[3].json["chatId"].int == Int(token.id.rawValue))
                #expect(received[4].json["deletedAt"].string != nil)
                #expect(bo.socket.changes == [1, 2, 3, 4, 5])
            }
        }
    }

    @Test("A stranger receives nothing")
    func stranger() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (bo, eve) = (try await one.connect("bo"), try await two.connect("eve"))
                _ = try await two.messages.send(
                    MessageDraft(data: "x"),
                    to: fixture.conversation,
                    by: StoreFixture.user("ana")
                )
                try await bo.waitForMessage(upTo: 1)
                #expect(eve.socket.received.isEmpty)
            }
        }
    }

    @Test("Sockets leave the room of a deleted conversation")
    func noMembersLeft() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let clients = [try await one.connect("ana"), try await two.connect("bo")]
                _ = try await one.conversations.delete(fixture.conversation, by: StoreFixture.user("ana"))
                for client in clients {
                    let connections = client.instance.delivery.connections
                    try await eventually { connections.conversations.isEmpty }
                    #expect(!connections.isIn(fixture.conversation.id, client.connection))
                }
            }
        }
    }

    @Test("The end of a session ends its sockets, and no socket can sign in with it")
    func sessionEnd() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let ana = try await one.connect("ana", session: "old")
                let again = try await one.connect("ana", session: "new")

                one.end(session: "old")

                #expect(ana.socket.isEnded)
                #expect(!again.socket.isEnded)
                await #expect(throws: APIError.self) { _ = try await one.connect("ana", session: "old") }
                #expect(one.delivery.connections.of(session: "old") == [ana.connection])
            }
        }
    }
}

extension HistorySpan {
    /// The span of the single message with this sequence.
    static func only(_ seq: Int64) -> HistorySpan {
        var span = HistorySpan()
        span.count = 1
        span.beforeSeq = seq + 1
        return span
    }
}
