import Foundation
import PushAPI
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Private messages") struct MessageTests {
    private func withMessages(_ body: (SocialFixture, MemoryNetwork, FakePush) async throws -> Void) async throws {
        let push = FakePush()
        try await withSocial(
            settings: ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(1_000_000), "PUSH_URL": "http://push"],
            peers: ["push": push.client]
        ) { fixture in
            let network = fixture.networks[.facebook]
            network.behavior.change { $0.supported = [.messages] }
            network.fill(threadOf: "ann", [network.message("old", at: 1)])
            try await fixture.link(.facebook)
            try await fixture.settled("messages")
            try await body(fixture, network, push)
        }
    }

    private static let recorded = "SELECT kind || ' ' || item_id AS row FROM changes ORDER BY number"

    @Test("A message by webhook and then by poll is one item and one notification")
    func webhookFirst() async throws {
        try await withMessages { fixture, network, push in
            // The webhook has the time in milliseconds, the poll in seconds.
            _ = try await fixture.service.call("/webhooks/facebook", "id of ann said new 7")
            network.fill(threadOf: "ann", [network.message("new", at: 6), network.message("old", at: 1)])
            try await fixture.polled(at: network, "threads ann")
            try await fixture.polled(at: network, "threads ann")
            try await push.waitForNotifications(1)

            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(try await fixture.rows(Self.recorded) == ["created facebook:new"])
            #expect(push.taken.count == 1)
            #expect(push.taken.first?.title == "Bo · facebook")
        }
    }

    @Test("A message by poll and then by webhook is one item and one notification")
    func pollFirst() async throws {
        try await withMessages { fixture, network, push in
            network.fill(threadOf: "ann", [network.message("new", at: 7), network.message("old", at: 1)])
            try await fixture.polled(at: network, "threads ann")
            _ = try await fixture.service.call("/webhooks/facebook", "id of ann said new 8")
            try await push.waitForNotifications(1)

            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(try await fixture.rows(Self.recorded) == ["created facebook:new"])
            #expect(push.taken.count == 1)
            #expect(push.taken.first?.title == "Bo · facebook")
        }
    }

    @Test("Several messages between two polls are recorded in their order")
    func several() async throws {
        try await withMessages { fixture, network, _ in
            let messages = ["c", "b", "a"].enumerated().map { network.message($0.element, at: 9 - $0.offset) }
            network.fill(threadOf: "ann", messages + [network.message("old", at: 1)])
            try await fixture.polled(at: network, "threads ann")
            // The new message has the same second as the previous one.
            network.fill(threadOf: "ann", [network.message("d", at: 9)] + messages)
            try await fixture.polled(at: network, "threads ann")

            let expected = ["a", "b", "c", "d"].map { "created facebook:\($0)" }
            #expect(try await fixture.rows(Self.recorded) == expected)
        }
    }

    @Test("A message by webhook has the sender's name and the network's thread")
    func sender() async throws {
        try await withMessages { fixture, _, _ in
            _ = try await fixture.service.call("/webhooks/facebook", "id of ann said new 7")

            let recorded = try await fixture.rows(
                "SELECT concat_ws(' ', item #>> '{author,name}', item ->> 'thread') AS row FROM changes"
            )
            #expect(recorded == ["Bo t1"])
        }
    }

    @Test("A sender without a name is replaced by the network's name")
    func unknownSender() async throws {
        try await withMessages { fixture, network, push in
            network.lists.change { $0["ann/threads"]?[0].item.participants = [] }
            // Another instance has not seen the thread before.
            try await fixture.another(settings: ["PUSH_URL": "http://push"]) { other in
                _ = try await other.call("/webhooks/facebook", "id of ann said new 7")
                try await push.waitForNotifications(1)
                #expect(push.taken.first?.title == "facebook")
            }
        }
    }

    @Test("A thread whose messages cannot be read is recorded as updated")
    func unreadable() async throws {
        try await withMessages { fixture, network, _ in
            network.fill(threadOf: "ann", [network.message("new", at: 7)])
            network.unreadable.change { $0 = ["t1"] }
            try await fixture.polled(at: network, "threads ann")

            #expect(try await fixture.rows(Self.recorded) == ["updated facebook:thread/t1"])
        }
    }

    @Test("A thread that was read elsewhere is an update without an alert")
    func readElsewhere() async throws {
        try await withMessages { fixture, network, push in
            network.lists.change { $0["ann/threads"]?[0].item.unread = 3 }
            try await fixture.polled(at: network, "threads ann")

            #expect(try await fixture.rows(Self.recorded) == ["updated facebook:thread/t1"])
            #expect(push.taken.isEmpty)
        }
    }
}

/// Messages in the formats of the networks' API versions.
@Suite("Private messages of networks") struct NetworkMessageTests {
    @Test("The newest message of a thread has the thread's time", arguments: NetworkVariant.withMessages)
    func times(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let threads = try await connector.threads(PageRequest(limit: 20), as: ana).items.map(\.item)
            let thread = try #require(threads.first)
            let name = try #require(thread.thread)

            let messages = try await connector.messages(of: name, PageRequest(limit: 20), as: ana).items.map(\.item)

            #expect(messages.map(\.createdAt).max() == thread.createdAt)
            #expect(messages.allSatisfy { $0.kind == .message })
            #expect(messages.allSatisfy { $0.id != thread.id })
        }
    }

    @Test("A message that arrives between two polls is one new item", arguments: NetworkVariant.withMessages)
    func arrival(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let network = connector.network
            let key = PolledListKey(user: ana.owner, network: network, list: .messages)
            var polledList = PolledList(seen: SeenItems(), hasBaseline: false, pause: 15)
            func poll() async throws -> [ItemChange] {
                let page = try await connector.threads(PageRequest(limit: 40), as: ana).items.map(\.item)
                var messages: [String: ThreadMessages] = [:]
                for thread in try polledList.threadsToRead(of: page) {
                    let name = try #require(thread.thread)
                    let read = try await connector.messages(of: name, PageRequest(limit: 20), as: ana)
                    messages[thread.id.native] = .read(read.items.map(\.item))
                }
                return try polledList.record(page, messages: messages, of: key)
            }
            let first = try await poll()
            // Messages of most networks have whole seconds.
            try await Task.sleep(for: .milliseconds(1_100))
            try await fixture.sendMessage("between two polls", from: "eli", to: "ana", on: variant)

            let second = try await poll()
            let third = try await poll()

            #expect(first.isEmpty)
            #expect(second.map(\.kind) == [.created])
            #expect(second.first?.item?.text.contains("between two polls") == true)
            #expect(second.first?.item?.kind == .message)
            #expect(second.first?.item?.author?.isNameless == false)
            #expect(third.isEmpty)
        }
    }
}

/// Networks that send a private message to a webhook and list it for polls.
@Suite("Private messages by webhook and poll", .timeLimit(.minutes(2))) struct WebhookAndPollTests {
    private static let variants: [NetworkVariant] = [.twitter, .twitter2, .facebook, .instagram]
    private static let recorded = """
        SELECT kind || ' ' || item_id AS row FROM changes WHERE list = 'messages' ORDER BY number
        """

    @Test("A private message has the same item id by webhook and by poll", arguments: variants)
    func itemID(variant: NetworkVariant) async throws {
        try await withSandboxService(variant, isPolling: true) { fixture in
            try await fixture.service.served { port in
                try await fixture.registerWebhook(at: port)
                try await fixture.link()
                try await fixture.settled(.messages)
                // The message is newer than all others and arrives before the next poll.
                fixture.clock.advance(by: 2)
                try await fixture.sendMessage("one message", from: "eli", to: "ana")
                try await eventually("recorded") { try await !fixture.rows(Self.recorded).isEmpty }
                let byWebhook = try await fixture.rows(Self.recorded)
                try await fixture.poll(.messages)
                let byBoth = try await fixture.rows(Self.recorded)

                try await fixture.holdWebhooks(true)
                fixture.clock.advance(by: 2)
                try await fixture.sendMessage("another message", from: "eli", to: "ana")
                try await fixture.poll(.messages)
                let byPoll = try await fixture.rows(Self.recorded)
                try await fixture.holdWebhooks(false)

                #expect(byWebhook.count == 1)
                #expect(byBoth == byWebhook)
                #expect(byPoll.count == 2)
                #expect(try await fixture.rows(Self.recorded) == byPoll)
                #expect(byPoll.allSatisfy { $0.hasPrefix("created ") })
            }
        }
    }
}
