import ConversationsAPI
import Foundation
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Sockets that reconnect with the client's last change number, and sockets that sign in during writes.
@Suite("Catch-up of sockets") struct CatchUpTests {
    @Test("A socket that signs in during writes receives every later message once and in order")
    func signInRace() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let isOver = SharedValue(false)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for instance in [one, two] {
                        tasks.addTask {
                            while !isOver.value {
                                _ = try await instance.messages.send(MessageDraft(data: "x"), to: token, by: ana)
                            }
                        }
                    }
                    for round in 0..<20 {
                        let client = try await (round % 2 == 0 ? one : two).connect("bo", device: "\(round)")
                        let known = try await one.messages.history(token, to: ana, HistorySpan()).first?.seq ?? 0
                        try await client.waitForMessage(upTo: Int(known) + 5)
                        client.leave()
                        let seqs = client.socket.seqs
                        let first = try #require(seqs.first)
                        #expect(first <= Int(known) + 1)
                        #expect(seqs == Array(first..<first + seqs.count))
                    }
                    isOver.change { $0 = true }
                    try await tasks.waitForAll()
                }
            }
        }
    }

    @Test("A client that reconnects to either instance misses no message")
    func catchUpThenLive() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let token = fixture.conversation
                let (isOver, received) = (SharedValue(false), SharedValue<Int64>(0))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for instance in [one, two] {
                        tasks.addTask {
                            try await Self.sendContinuously(at: instance, in: token, received: received, until: isOver)
                        }
                    }
                    var (change, seqs): (Int64, [Int]) = (0, [])
                    for round in 0..<12 {
                        let instance = round % 2 == 0 ? one : two
                        let client = try await instance.connect("bo", last: [token.id: change])
                        let count = client.socket.allSeqs.count
                        try await eventually {
                            received.change { $0 = max($0, Int64(client.socket.changes.max() ?? 0)) }
                            return client.socket.allSeqs.count >= count + 10
                        }
                        client.leave()
                        // Like a client, the test identifies a message by its id and remembers the highest change number.
                        for seq in client.socket.allSeqs where !seqs.contains(seq) { seqs.append(seq) }
                        change = max(change, Int64(client.socket.changes.max() ?? 0))
                        #expect(client.socket.received(.sync).allSatisfy { $0["resync"].bool != true })
                    }
                    isOver.change { $0 = true }
                    try await tasks.waitForAll()
                    #expect(seqs == Array(1...seqs.count))
                }
            }
        }
    }

    @Test("A client that reconnects to a busy conversation receives every message in order")
    func busyConversation() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let cat = try await one.connect("cat")
                let (isOver, received) = (SharedValue(false), SharedValue<Int64>(0))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<32 {
                        tasks.addTask {
                            try await Self.sendContinuously(at: one, in: token, received: received, until: isOver)
                        }
                    }
                    var change: Int64 = 0
                    for _ in 0..<5 {
                        let client = try await one.connect("bo", last: [token.id: change])
                        let count = client.socket.allSeqs.count
                        try await eventually {
                            received.change { $0 = max($0, Int64(client.socket.changes.max() ?? 0)) }
                            return client.socket.allSeqs.count >= count + 50
                        }
                        client.leave()
                        let seqs = client.socket.allSeqs
                        #expect(seqs == Array(Int(change) + 1...Int(change) + seqs.count))
                        #expect(client.socket.received(.sync).allSatisfy { $0["resync"].bool != true })
                        change = Int64(client.socket.changes.max() ?? 0)
                    }
                    isOver.change { $0 = true }
                    try await tasks.waitForAll()
                }
                let last = try #require(try await one.messages.history(token, to: ana, HistorySpan()).first)
                try await cat.waitForMessage(upTo: Int(last.seq))
                #expect(cat.socket.seqs == Array(1...Int(last.seq)))
            }
        }
    }

    /// Sends messages by Ana until `isOver`.
    ///
    /// A reconnecting client receives at most a thousand messages, so Ana waits when the client falls behind.
    private static func sendContinuously(
        at instance: Instance,
        in token: ConversationToken,
        received: SharedValue<Int64>,
        until isOver: SharedValue<Bool>
    ) async throws {
        while !isOver.value {
            let sent = try await instance.messages.send(
                MessageDraft(data: "x"),
                to: token,
                by: StoreFixture.user("ana")
            )
            while !isOver.value, sent.change > received.value + 500 { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    @Test("A client that missed nothing receives nothing when it reconnects")
    func nothingMissed() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let token = fixture.conversation
                let sent = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ana"))
                let bo = try await one.connect("bo", last: [token.id: sent.change])
                #expect(bo.socket.received.isEmpty)
                #expect(one.delivery.connections.isIn(token.id, bo.connection))
            }
        }
    }

    @Test("A reconnecting client receives missed edits and read marks")
    func missedChanges() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
                let sent = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana)
                _ = try await one.messages.edit(sent.id, in: token, to: MessageChanges(data: "y"), by: ana)
                _ = try await one.messages.markRead(sent.id, in: token, by: StoreFixture.user("cat"))

                let bo = try await one.connect("bo", last: [token.id: sent.change])

                let sync = try #require(bo.socket.received(.sync).first)
                #expect(bo.socket.received.count == 1)
                #expect(sync["chatId"].int == Int(token.id.rawValue))
                #expect(sync["messages"].array.map { $0["data"].string } == ["y"])
                #expect(sync["reads"][0]["userId"].string == "cat")
                #expect(sync["change"].int == 3)
                #expect(sync["more"].bool == false)
            }
        }
    }

    @Test("A change number that is too high, or of a conversation without the user, causes a resync request")
    func resync() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let other = try await fixture.newConversation(["ana", "cat"])
                let bo = try await one.connect("bo", last: [fixture.conversation.id: 7, other.id: 0])

                let syncs = bo.socket.received(.sync)
                #expect(
                    syncs.map { $0["chatId"].int } == [Int(fixture.conversation.id.rawValue), Int(other.id.rawValue)]
                )
                #expect(syncs.allSatisfy { $0["resync"].bool == true })
                #expect(one.delivery.connections.conversations == [fixture.conversation.id])
            }
        }
    }

    @Test("A client that missed more than 1,000 messages receives the first 1,000 and a resync request")
    func tooMuchMissed() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let token = fixture.conversation
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<1_050 {
                        tasks.addTask {
                            _ = try await one.messages.send(
                                MessageDraft(data: "x"),
                                to: token,
                                by: StoreFixture.user("ana")
                            )
                        }
                    }
                    try await tasks.waitForAll()
                }
                let bo = try await one.connect("bo", last: [token.id: 0])
                #expect(bo.socket.received(.sync).last?["resync"].bool == true)
                let isAllOfThem = bo.socket.allSeqs == Array(1...1_000)
                #expect(isAllOfThem)

                _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: StoreFixture.user("ana"))
                try await bo.waitForMessage(upTo: 1_051)
            }
        }
    }

    @Test("Missed messages can be requested by sequence, page by page")
    func syncBySeq() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (token, ana, bo) = (fixture.conversation, StoreFixture.user("ana"), StoreFixture.user("bo"))
                for _ in 0..<5 { _ = try await one.messages.send(MessageDraft(data: "x"), to: token, by: ana) }
                let third = try #require(try await one.messages.history(token, to: ana, .only(3)).first)
                _ = try await one.messages.react("👋", to: third.id, in: token, by: ana)

                let sync = one.delivery.sync
                guard case .missed(let part) = try await sync.missed(in: token.id, by: bo, afterSeq: 1, limit: 2),
                    case .missed(let rest) = try await sync.missed(in: token.id, by: bo, afterSeq: 3, limit: 2),
                    case .missed(let by) = try await sync.missed(in: token.id, by: bo, after: part.change)?.changes
                else { throw TestSupportError("resync") }
                #expect(part.messages.map(\.seq) == [2, 3])
                #expect(part.more)
                #expect(rest.messages.map(\.seq) == [4, 5])
                #expect(!rest.more)
                #expect(rest.change == 6)
                // Everything that the page did not contain has a higher change number.
                #expect(Set(by.messages.map(\.seq)).isSuperset(of: [4, 5]))
                #expect(try await sync.missed(in: token.id, by: bo, afterSeq: 6) == .resync)
                #expect(try await sync.missed(in: token.id, by: StoreFixture.user("eve"), afterSeq: 0) == nil)
                #expect(try await sync.missed(in: token.id, by: StoreFixture.user("eve"), after: 0) == nil)
            }
        }
    }
}

extension RecordingSocket {
    /// The sequences of new messages, missed or live, each once and in order of arrival.
    var allSeqs: [Int] {
        var (seqs, known): ([Int], Set<Int>) = ([], [])
        for received in received {
            let found =
                received.name == .sync
                ? received.json["messages"].array.compactMap { $0["seq"].int }
                : received.name == .message ? [received.json["seq"].int].compactMap { $0 } : []
            seqs += found.filter { known.insert($0).inserted }
        }
        return seqs
    }
}
