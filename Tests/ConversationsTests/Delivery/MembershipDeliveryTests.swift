import ConversationsAPI
import Foundation
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Who comes and goes while he is connected.
@Suite struct MembershipDeliveryTests {
    @Test func whoIsKickedHearsOfItAndNothingAfter() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (bob, cat) = (try await two.connect("bob"), try await two.connect("cat"))
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                let isOver = Shared(false)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    defer { isOver.change { $0 = true } }
                    for _ in 0..<4 {
                        tasks.addTask {
                            while !isOver.value {
                                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ann)
                            }
                        }
                    }
                    try await bob.hears(upTo: 20)
                    _ = try await one.members.kick("bob", from: token, by: ann)
                    // All of it: many may have been written since.
                    let written = try await one.messages.history(token, to: ann, HistorySpan(count: .max))
                    let kick = try #require(written.first { $0.senderUser == nil })
                    try await cat.hears(upTo: Int(kick.seq) + 20)
                    isOver.change { $0 = true }
                    try await tasks.waitForAll()

                    #expect(bob.socket.seqs == Array(1...Int(kick.seq)))
                    #expect(bob.socket.texts().last?.contains("user.kicked") == true)
                    #expect(!two.delivery.connections.isIn(token.id, bob.connection))
                    // Looked at once: the last of it may be on its way to her still.
                    let heard = cat.socket.seqs
                    #expect(heard == Array(1...heard.count))
                }
            }
        }
    }

    @Test func whoLeavesHearsOfItAndNothingAfter() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (bob, cat) = (try await two.connect("bob"), try await one.connect("cat"))
                _ = try await one.members.leave(scene.conversation, StoreScene.user("bob"))
                try await cat.say("he is gone", in: scene.conversation)
                try await cat.say("really", in: scene.conversation)
                try await bob.hears(upTo: 1)
                try await eventually { two.delivery.connections.conversations.isEmpty }
                #expect(bob.socket.seqs == [1])
            }
        }
    }

    @Test(arguments: [true, false])
    func whoComesInHearsFromThereOn(othersAreThere: Bool) async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let dan = try await two.connect("dan")
                let bob = othersAreThere ? try await two.connect("bob") : nil
                let (token, ann) = (scene.conversation, StoreScene.user("ann"))
                for _ in 0..<3 { _ = try await one.messages.send(MessageDraft(data: "before"), to: token, by: ann) }
                try await bob?.hears(upTo: 3)

                _ = try await one.members.join(token, StoreScene.user("dan"))
                for _ in 0..<3 { _ = try await one.messages.send(MessageDraft(data: "after"), to: token, by: ann) }

                try await dan.hears(upTo: 7)
                #expect(dan.socket.seqs == [4, 5, 6, 7])
                #expect(dan.socket.texts().first?.contains("user.joined") == true)
                try await bob?.hears(upTo: 7)
                #expect(bob.map { $0.socket.seqs == Array(1...7) } ?? true)
            }
        }
    }

    @Test func whoIsInANewConversationHearsItFromTheBeginning() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let clients = [
                    try await one.connect("ann"), try await two.connect("bob"), try await one.connect("eve"),
                ]
                let draft = ConversationDraft(label: "New", members: ["bob", "eve"])
                let made = try await one.conversations.create(draft, by: StoreScene.user("ann"))
                let token = try #require(ConversationToken(made.token))
                for number in 1...5 {
                    _ = try await two.messages.send(
                        MessageDraft(data: "\(number)"),
                        to: token,
                        by: StoreScene.user("bob")
                    )
                }
                for client in clients {
                    try await eventually { client.socket.allSeqs.count >= 5 }
                    #expect(client.socket.allSeqs == [1, 2, 3, 4, 5])
                }
            }
        }
    }

    @Test func anArrivalThatNobodyRangOfIsFound() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, two in
                let (dan, bob) = (try await two.connect("dan"), try await two.connect("eve"))
                _ = try await one.members.join(scene.conversation, StoreScene.user("dan"))
                let pair = ConversationDraft(members: ["dan"], type: "direct")
                _ = try await one.conversations.create(pair, by: StoreScene.user("ann"))

                try await two.delivery.sweepArrivals()
                try await dan.hears(upTo: 1)

                #expect(two.delivery.connections.conversations.count == 2)
                #expect(dan.socket.texts().first?.contains("user.joined") == true)
                #expect(bob.socket.heard.isEmpty)
                try await two.delivery.sweepArrivals()
                #expect(dan.socket.heard(.message).count == 1)
                #expect(dan.socket.heard(.joined).count == 2)
            }
        }
    }

    /// An instance that has just started finds the arrivals of the last seconds, while clients come back to it.
    @Test func whoComesBackRightAfterHeCameInIsToldNothingTwice() async throws {
        try await withStore { scene in
            try await scene.withDeafInstances { one, _ in
                let ann = StoreScene.user("ann")
                let draft = ConversationDraft(label: "New", members: ["bob"])
                let made = try await one.conversations.create(draft, by: ann)
                let token = try #require(ConversationToken(made.token))
                for _ in 0..<3 {
                    try await withThrowingTaskGroup(of: Void.self) { tasks in
                        for _ in 0..<100 {
                            tasks.addTask {
                                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ann)
                            }
                        }
                        try await tasks.waitForAll()
                    }
                }
                for round in 0..<10 {
                    let started = Instance("\(round)", over: scene.pool, bus: scene.bus("\(round)"))
                    async let client = started.connect("bob", last: [token.id: 1])
                    try await eventually { !started.delivery.connections.isEmpty }
                    try await started.delivery.sweepArrivals()
                    let bob = try await client
                    let told = bob.socket.heard(.sync).flatMap { $0["messages"].array }
                    #expect(told.compactMap { $0["seq"].int } == Array(2...300))
                    #expect(started.delivery.connections.isIn(token.id, bob.connection))
                    started.delivery.queue.stop()
                }
            }
        }
    }

    @Test func comingAndGoingWhileOneSignsInLeavesNobodyWhereHeIsNot() async throws {
        try await withStore { scene in
            try await scene.withInstances { one, two in
                let (token, bob) = (scene.conversation, StoreScene.user("bob"))
                let cat = try await two.connect("cat")
                for round in 0..<30 {
                    async let client = two.connect("bob", device: "\(round)")
                    async let change =
                        round % 2 == 0
                        ? one.members.leave(token, bob) : one.members.join(token, bob)
                    let (arrived, _) = (try await client, try await change)
                    let isIn = round % 2 == 1
                    try await eventually { two.delivery.connections.isIn(token.id, arrived.connection) == isIn }
                    arrived.leave()
                }
                try await cat.hears(upTo: 30)
                #expect(cat.socket.seqs == Array(1...30))
            }
        }
    }
}
