import ConversationsAPI
@testable import ConversationsServer
import EventBus
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing
import Wire

/// When instances read changes from the database, and when they do not have to.
@Suite("Change notifications") struct ChangeNotifierTests {
    @Test("An instance without sockets of a conversation reads nothing")
    func idle() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let bo = try await one.connect("bo")
                #expect(one.delivery.connections.conversations == [fixture.conversation.id])
                bo.leave()
                bo.leave()

                _ = try await one.messages.send(
                    MessageDraft(data: "x"),
                    to: fixture.conversation,
                    by: StoreFixture.user("ana")
                )
                #expect(one.delivery.connections.conversations.isEmpty)
                #expect(two.delivery.connections.conversations.isEmpty)
                #expect(bo.socket.received.isEmpty)
            }
        }
    }

    @Test("An instance does not read back the changes that it wrote")
    func noReread() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let bo = try await one.connect("bo")
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                for number in 1...20 {
                    _ = try await one.messages.send(MessageDraft(data: "\(number)"), to: token, by: ana)
                }
                try await bo.waitForMessage(upTo: 20)
                #expect(bo.socket.seqs == Array(1...20))
                #expect(one.delivery.queue.readings.load(ordering: .relaxed) == 0)
            }
        }
    }

    @Test("The periodic sweep delivers changes whose notification was lost")
    func lostNotification() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, two in
                let bo = try await two.connect("bo")
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let first = try await one.messages.send(MessageDraft(data: "1"), to: token, by: ana)
                _ = try await one.messages.send(MessageDraft(data: "2"), to: token, by: ana)
                _ = try await one.messages.edit(first.id, in: token, to: MessageChanges(data: "one"), by: ana)
                #expect(bo.socket.received.isEmpty)

                try await two.delivery.sweep()

                try await eventually { bo.socket.received.count == 3 }
                // The first message was edited before its delivery: it still comes first, and then the edit.
                #expect(bo.socket.received.map(\.name) == [.message, .message, .messageUpdated])
                #expect(bo.socket.seqs == [1, 2])
                #expect(bo.socket.changes == [1, 2, 3])
                try await two.delivery.sweep()
                #expect(bo.socket.received.count == 3)
            }
        }
    }

    @Test("A long backlog is delivered in order over several pages")
    func catchUpPages() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, two in
                let bo = try await two.connect("bo")
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<250 {
                        let text = String(repeating: "\(number) ", count: number % 50 == 0 ? 15_000 : 1)
                        tasks.addTask { _ = try await one.messages.send(MessageDraft(data: text), to: token, by: ana) }
                    }
                    try await tasks.waitForAll()
                }
                // The edit is the last change, but its message is on an early page.
                let early = try #require(try await one.messages.history(token, to: ana, .only(3)).first)
                _ = try await one.messages.edit(early.id, in: token, to: MessageChanges(data: "edited"), by: ana)

                try await two.delivery.sweep()

                try await bo.waitForMessage(upTo: 250)
                try await eventually { bo.socket.changes.last == 251 }
                #expect(bo.socket.seqs == Array(1...250))
                let changes = bo.socket.changes
                #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 < $1 })
                #expect(bo.socket.received.last?.name == .messageUpdated)
            }
        }
    }

    @Test("An instance that is alone sends no notifications")
    func singleInstance() async throws {
        try await withStore { fixture in
            let (name, token) = (try await BusStore(db: fixture.pool).name(), fixture.conversation)
            func bus() -> PostgresEventBus {
                PostgresEventBus(pool: fixture.pool, name: name, logger: StoreFixture.logger)
            }
            let received = SharedValue<[String]>([])
            let listening = bus().subscribe(to: [Delivery.topic]) { event in
                if case .message(_, let text) = event { received.change { $0.append(text) } }
                if event == .missed { received.change { $0.append("listening") } }
            }
            try await eventually { received.value == ["listening"] }
            let (one, two) = (
                Instance("one", over: fixture.pool, bus: bus()), Instance("two", over: fixture.pool, bus: bus())
            )
            try await fixture.running([one.delivery]) {
                // The instance has announced itself, but does not know yet whether there are others.
                try await eventually { received.value.contains("started") }
                var notNotified: Int64 = 0
                // After a lost connection the instance would no longer know that it is alone.
                try await eventually {
                    try await one.delivery.devices.renew()
                    let draft = MessageDraft(data: "1")
                    notNotified = try await one.messages.send(draft, to: token, by: StoreFixture.user("ana")).change
                    // A write shard notifies after its response: once the next message is written, the first one's is sent.
                    _ = try await one.messages.send(draft, to: token, by: StoreFixture.user("ana"))
                    return one.delivery.changeNotifier.isAlone
                }
                two.delivery.changeNotifier.publish(.started)
                try await eventually {
                    _ = try await one.messages.send(MessageDraft(data: "2"), to: token, by: StoreFixture.user("ana"))
                    return received.value.contains { $0.hasPrefix("\(token.id) ") }
                }
                #expect(!received.value.contains("\(token.id) \(notNotified)"))

                try await two.delivery.devices.renew()
                try await one.delivery.devices.renew()
                let last = try await one.messages.send(MessageDraft(data: "3"), to: token, by: StoreFixture.user("ana"))
                try await eventually { received.value.contains("\(token.id) \(last.change)") }
            }
            listening.cancel()
        }
    }
}
