import ConversationsAPI
@testable import ConversationsServer
import EventBus
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing
import Wire

/// What the sockets of two instances are told.
@Suite struct DeliveryTests {
    @Test func everySocketHearsEveryMessageOnceAndInOrderWhoeverWritesWhere() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
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
                                    to: scene.conversation,
                                    by: StoreScene.user(name)
                                )
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }
                for client in clients {
                    try await client.hears(upTo: 240)
                    #expect(client.socket.seqs == Array(1...240))
                    let changes = client.socket.changes
                    #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 < $1 })
                }
            }
        }
    }

    @Test func whoSendsHasTheAnswerAndHisOtherDevicesTheMessage() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let telephone = try await one.connect("ann", device: "telephone")
                let tablet = try await one.connect("ann", device: "tablet")
                let laptop = try await two.connect("ann", device: "laptop")

                for number in 1...50 { try await telephone.say("\(number)", in: scene.conversation) }
                _ = try await two.messages.send(
                    MessageDraft(data: "last"),
                    to: scene.conversation,
                    by: StoreScene.user("bob")
                )

                for client in [tablet, laptop] {
                    try await client.hears(upTo: 51)
                    #expect(client.socket.seqs == Array(1...51))
                }
                try await telephone.hears(upTo: 51)
                #expect(telephone.socket.seqs == [51])
            }
        }
    }

    @Test func whatIsSaidAgainIsToldOnce() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (ann, bob) = (try await one.connect("ann"), try await two.connect("bob"))

                let first = try await ann.say("once", in: scene.conversation, id: "1")
                let second = try await ann.say("once", in: scene.conversation, id: "1")
                try await ann.say("twice", in: scene.conversation, id: "2")

                #expect(first.id == second.id)
                try await bob.hears(upTo: 2)
                #expect(bob.socket.seqs == [1, 2])
                #expect(ann.socket.seqs.isEmpty)
            }
        }
    }

    @Test func aSocketIsToldWhatRESTAnswers() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (here, there) = (try await one.connect("bob"), try await two.connect("cat"))
                let draft = MessageDraft(data: "\"hello\"\n☂️", meta: .object(["a": .integer(1)]), clientMessageId: "x")
                let sent = try await one.messages.send(draft, to: scene.conversation, by: StoreScene.user("ann"))

                for client in [here, there] {
                    try await client.hears(upTo: 1)
                    let told = try #require(client.socket.heard(.message).first)
                    #expect(try WireJSON.decode(Message.self, from: Array(told.compact())) == sent)
                }
            }
        }
    }

    @Test func editsReactionsDeletionsAndMarksAreToldInTheirOrder() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let bob = try await two.connect("bob")
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                let message = try await one.messages.send(MessageDraft(data: "helo"), to: token, by: ann)
                try await bob.hears(upTo: 1)

                func step(_ count: Int, _ body: () async throws -> Void) async throws {
                    try await body()
                    try await eventually { bob.socket.heard.count >= count }
                }
                try await step(2) {
                    _ = try await one.messages.edit(message.id, in: token, to: MessageChanges(data: "hello"), by: ann)
                }
                try await step(3) {
                    _ = try await one.messages.react("👋", to: message.id, in: token, by: StoreScene.user("cat"))
                }
                try await step(4) {
                    _ = try await one.messages.markRead(message.id, in: token, by: StoreScene.user("cat"))
                }
                try await step(5) { _ = try await one.messages.delete(message.id, in: token, by: ann) }

                let heard = bob.socket.heard
                #expect(
                    heard.map(\.name) == [.message, .messageUpdated, .messageUpdated, .messageRead, .messageUpdated]
                )
                #expect(heard[1].json["data"].string == "hello")
                #expect(heard[2].json["reactions"]["👋"][0].string == "cat")
                #expect(heard[3].json["userId"].string == "cat")
                #expect(heard[3].json["seq"].int == 1)
                #expect(heard[3].json["chatId"].int == Int(token.id.rawValue))
                #expect(heard[4].json["deletedAt"].string != nil)
                #expect(bob.socket.changes == [1, 2, 3, 4, 5])
            }
        }
    }

    @Test func aStrangerIsToldNothing() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (bob, eve) = (try await one.connect("bob"), try await two.connect("eve"))
                _ = try await two.messages.send(
                    MessageDraft(data: "x"),
                    to: scene.conversation,
                    by: StoreScene.user("ann")
                )
                try await bob.hears(upTo: 1)
                #expect(eve.socket.heard.isEmpty)
            }
        }
    }

    @Test func whereNobodyIsConnectedNothingIsOpenAndNothingIsRead() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let bob = try await one.connect("bob")
                #expect(one.delivery.connections.conversations == [scene.conversation.id])
                bob.leave()
                bob.leave()

                _ = try await one.messages.send(
                    MessageDraft(data: "x"),
                    to: scene.conversation,
                    by: StoreScene.user("ann")
                )
                #expect(one.delivery.connections.conversations.isEmpty)
                #expect(two.delivery.connections.conversations.isEmpty)
                #expect(bob.socket.heard.isEmpty)
            }
        }
    }

    @Test func whatWasWrittenHereIsNotReadAgain() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, _ in
                let bob = try await one.connect("bob")
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                for number in 1...20 {
                    _ = try await one.messages.send(MessageDraft(data: "\(number)"), to: token, by: ann)
                }
                try await bob.hears(upTo: 20)
                #expect(bob.socket.seqs == Array(1...20))
                #expect(one.delivery.queue.readings.load(ordering: .relaxed) == 0)
            }
        }
    }

    @Test func aLostDoorbellIsMadeUpForByTheSweep() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, two in
                let bob = try await two.connect("bob")
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                let first = try await one.messages.send(MessageDraft(data: "1"), to: token, by: ann)
                _ = try await one.messages.send(MessageDraft(data: "2"), to: token, by: ann)
                _ = try await one.messages.edit(first.id, in: token, to: MessageChanges(data: "one"), by: ann)
                #expect(bob.socket.heard.isEmpty)

                try await two.delivery.sweep()

                try await eventually { bob.socket.heard.count == 3 }
                // The first was edited before it was told: it comes first all the same, and then as edited.
                #expect(bob.socket.heard.map(\.name) == [.message, .message, .messageUpdated])
                #expect(bob.socket.seqs == [1, 2])
                #expect(bob.socket.changes == [1, 2, 3])
                try await two.delivery.sweep()
                #expect(bob.socket.heard.count == 3)
            }
        }
    }

    @Test func muchThatWasMissedIsToldPageByPage() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, two in
                let bob = try await two.connect("bob")
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<250 {
                        let text = String(repeating: "\(number) ", count: number % 50 == 0 ? 15_000 : 1)
                        tasks.addTask { _ = try await one.messages.send(MessageDraft(data: text), to: token, by: ann) }
                    }
                    try await tasks.waitForAll()
                }
                // Edited behind the last page: it is told in its place nevertheless.
                let early = try #require(try await one.messages.history(token, to: ann, .only(3)).first)
                _ = try await one.messages.edit(early.id, in: token, to: MessageChanges(data: "edited"), by: ann)

                try await two.delivery.sweep()

                try await bob.hears(upTo: 250)
                try await eventually { bob.socket.changes.last == 251 }
                #expect(bob.socket.seqs == Array(1...250))
                let changes = bob.socket.changes
                #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 < $1 })
                #expect(bob.socket.heard.last?.name == .messageUpdated)
            }
        }
    }

    @Test func whoIsAloneRingsForNobodyUntilAnotherIsThere() async throws {
        try await withStore { scene in
            let (name, token) = (try await BusStore(db: scene.pool).name(), scene.conversation)
            func bus() -> PostgresEventBus { PostgresEventBus(pool: scene.pool, name: name, logger: StoreScene.logger) }
            let heard = Shared<[String]>([])
            let listening = bus().subscribe(to: [Delivery.topic]) { event in
                if case .message(_, let text) = event { heard.change { $0.append(text) } }
                if event == .missed { heard.change { $0.append("listening") } }
            }
            try await eventually { heard.value == ["listening"] }
            let (one, two) = (
                Instance("one", over: scene.pool, bus: bus()), Instance("two", over: scene.pool, bus: bus())
            )
            try await scene.running([one.delivery]) {
                // It says that it is there; who else there is it does not know yet.
                try await eventually { heard.value.contains("started") }
                var unheard: Int64 = 0
                // Were its connection lost in between, it would not know any more that it is alone.
                try await eventually {
                    try await one.delivery.devices.renew()
                    let said = MessageDraft(data: "1")
                    unheard = try await one.messages.send(said, to: token, by: StoreScene.user("ann")).change
                    return one.delivery.doorbell.isAlone
                }
                two.delivery.doorbell.publish(.started)
                try await eventually {
                    _ = try await one.messages.send(MessageDraft(data: "2"), to: token, by: StoreScene.user("ann"))
                    return heard.value.contains { $0.hasPrefix("\(token.id) ") }
                }
                #expect(!heard.value.contains("\(token.id) \(unheard)"))

                try await two.delivery.devices.renew()
                try await one.delivery.devices.renew()
                let last = try await one.messages.send(MessageDraft(data: "3"), to: token, by: StoreScene.user("ann"))
                try await eventually { heard.value.contains("\(token.id) \(last.change)") }
            }
            listening.cancel()
        }
    }

    @Test func aDeletedConversationHasNobodyInIt() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let clients = [try await one.connect("ann"), try await two.connect("bob")]
                _ = try await one.conversations.delete(scene.conversation, by: StoreScene.user("ann"))
                for client in clients {
                    let connections = client.instance.delivery.connections
                    try await eventually { connections.conversations.isEmpty }
                    #expect(!connections.isIn(scene.conversation.id, client.connection))
                }
            }
        }
    }

    @Test func theSocketsOfASessionThatEndsAreClosed() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, _ in
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
