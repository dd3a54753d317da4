import Foundation
import PushAPI
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// What networks do not tell by themselves is found by looking.
@Suite struct PollerTests {
    private static let eager = ["SOCIAL_POLLS_PER_HOUR": Fixture.pollsPerHour(1_000_000)]

    @Test func changes() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            network.fill("ann", times: [3, 2, 1])
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "feed ann")
            network.lists.change { lists in
                var changed = network.item("ann-1", at: 2)
                changed.item.text = "changed"
                lists["ann"] = [network.item("new", at: 9), network.item("ann-0", at: 3), changed]
            }
            try await fixture.polled(at: network, "feed ann")
            network.lists.change { $0["ann"]?.remove(at: 1) }
            try await fixture.polled(at: network, "feed ann")
            try await fixture.polled(at: network, "feed ann")

            let told = try await fixture.rows("SELECT kind || ' ' || item_id AS row FROM changes ORDER BY number")

            // The last of the page may have moved to the next.
            #expect(told == ["updated twitter:ann-1", "created twitter:new", "deleted twitter:ann-0"])
        }
    }

    @Test func push() async throws {
        let push = FakePush()
        try await withSocial(
            settings: ["PUSH_URL": "http://push"].merging(Self.eager) { $1 },
            peers: ["push": push.client]
        ) { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "notifications ann")
            push.dropResponses(1)
            network.lists.change { $0["ann/notifications"] = [network.item("mention", at: 9)] }
            try await fixture.polled(at: network, "notifications ann")
            try await push.waitForNotifications(1)

            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(push.taken.map(\.kind) == [.social])
            #expect(push.taken.first?.recipients.map(\.userId) == ["ann"])
            #expect(push.bodies == ["text of mention"])
        }
    }

    @Test func threadPush() async throws {
        let push = FakePush()
        try await withSocial(
            settings: ["PUSH_URL": "http://push"].merging(Self.eager) { $1 },
            peers: ["push": push.client]
        ) { fixture in
            let network = fixture.networks[.twitter]
            func thread(_ text: String, at time: Int, by author: String, unread: Int) -> NetworkItem {
                var thread = network.item("thread", at: time)
                (thread.item.kind, thread.item.text, thread.item.unread) = (.thread, text, unread)
                thread.item.author = ItemAuthor(id: author, name: author)
                return thread
            }
            // There before the first look, which may come as soon as the account is linked.
            network.lists.change { $0["ann/threads"] = [thread("of old", at: 1, by: "bob", unread: 1)] }
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "threads ann")
            for said in [
                thread("are you there?", at: 2, by: "bob", unread: 2), thread("yes", at: 3, by: "id of ann", unread: 0),
                thread("yes", at: 3, by: "id of ann", unread: 1), thread("well then", at: 4, by: "bob", unread: 1),
            ] {
                network.lists.change { $0["ann/threads"] = [said] }
                try await fixture.polled(at: network, "threads ann")
            }
            try await push.waitForNotifications(2)

            #expect(try await fixture.rows("SELECT kind AS row FROM changes").count == 4)
            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(push.bodies == ["are you there?", "well then"])
        }
    }

    @Test func longUserIDs() async throws {
        let push = FakePush()
        let names = ["1", "2"].map { String(repeating: "a", count: 200) + $0 }
        try await withSocial(settings: ["PUSH_URL": "http://push"], peers: ["push": push.client]) { fixture in
            for name in names {
                let person = try await fixture.person(name)
                try await person.link(.facebook, "ann")
            }

            _ = try await fixture.service.call("/webhooks/facebook", "id of ann created one 7")

            try await push.waitForNotifications(2)
            #expect(Set(push.taken.flatMap(\.recipients).map(\.userId)) == Set(names))
            #expect(push.taken.allSatisfy { $0.id.utf8.count <= 200 })
        }
    }

    @Test func budget() async throws {
        // Two looks at once, and another each half minute.
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": Fixture.pollsPerHour(0) + ",twitter=120"]) { fixture in
            for index in 0..<10 {
                let person = try await fixture.person("person \(index)")
                try await person.link(.twitter, "token\(index)")
            }
            let network = fixture.networks[.twitter]
            func polls() -> Int {
                network.asked.value.count { !$0.hasPrefix("identify ") && !$0.hasPrefix("subscribe ") }
            }
            try await eventually { polls() >= 2 }

            fixture.clock.advance(by: 60)
            try await eventually { polls() >= 4 }
            // Nobody has looked oftener, though thirty lists are due.
            let counted = try await fixture.rows("SELECT (polls < 1)::text AS row FROM poll_budgets")

            #expect(polls() == 4)
            #expect(counted == ["true"])
        }
    }

    @Test func backoff() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.link(.twitter)
            for _ in 0..<4 { try await fixture.polled(at: network, "feed ann") }
            let quiet = try await fixture.rows("SELECT round(pause)::text AS row FROM polled_lists WHERE list = 'feed'")
            network.fill("ann", times: [1])
            try await fixture.polled(at: network, "feed ann")

            let lively = try await fixture.rows(
                "SELECT round(pause)::text AS row FROM polled_lists WHERE list = 'feed'"
            )

            #expect(Int(quiet[0]) ?? 0 >= 50)
            #expect(lively == ["15"])
        }
    }

    @Test func hangingPoll() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.supported = [.feed] }
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "feed ann")
            // What began to hang hangs on when the network is well again, and when it is given up too: a busy machine
            // would not keep a bound on the time until the next look.
            let hanging = AsyncSemaphore(capacity: 0)
            defer { hanging.leave() }
            network.behavior.change { $0.gate = { try await hanging.enter() } }
            let before = network.asked.value.count
            fixture.clock.advance(by: 1_000)
            try await eventually { network.asked.value.count > before }
            network.behavior.change { $0.gate = nil }

            try await fixture.bob.link(.twitter, "bob")

            try await eventually(within: .seconds(30)) { network.asked.value.contains("feed bob") }
        }
    }

    @Test func accountBudget() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            let end = fixture.clock.read().addingTimeInterval(1_900)
            network.behavior.change {
                $0.supported = [.feed]
                $0.budget = Budget(scope: .account, limit: 15, remaining: 9, resetAt: end)
            }
            try await fixture.link(.twitter)

            // Four of the nine are ours, in the 1,900 seconds that are left of the window.
            try await eventually { try await fixture.secondsUntilDue() == 475 }

            // She is there, and may be looked for no sooner for that.
            try await fixture.pollSoon()
            #expect(try await fixture.secondsUntilDue() == 475)
        }
    }

    @Test func minimumInterval() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.supported = [.feed] }
            try await fixture.link(.twitter)
            for _ in 0..<6 { try await fixture.polled(at: network, "feed ann") }
            try await eventually { try await fixture.secondsUntilDue() > 60 }

            try await fixture.pollSoon()
            let first = try await fixture.secondsUntilDue()
            try await fixture.pollSoon()

            #expect(first == 15)
            #expect(try await fixture.secondsUntilDue() == 15)
        }
    }

    @Test func retryAfter() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.supported = [.feed] }
            try await fixture.link(.twitter)
            try await fixture.settled("feed")
            let end = fixture.clock.read().addingTimeInterval(2_600)
            network.behavior.change { $0.failure = { NetworkError(.rateLimited(until: end), "too much") } }
            fixture.clock.advance(by: 1_000)
            try await eventually { try await fixture.secondsUntilDue() >= 1_600 }

            try await fixture.pollSoon()

            #expect(try await fixture.secondsUntilDue() >= 1_600)
        }
    }

    @Test func unlinked() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.link(.twitter)
            try await fixture.polled(at: fixture.networks[.twitter], "feed ann")

            _ = try await fixture.ann.ask(.delete, "/networks/twitter")

            #expect(try await fixture.rows("SELECT list AS row FROM polled_lists").isEmpty)
        }
    }

    @Test func unsupportedList() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.facebook]
            network.behavior.change { $0.supported = [.messages] }
            try await fixture.link(.facebook)
            try await fixture.polled(at: network, "threads ann")

            _ = try await fixture.service.call("/webhooks/facebook", "id of ann created one 7")
            _ = try await fixture.service.call("/webhooks/facebook", "id of ann ping none 0")
            try await fixture.polled(at: network, "threads ann")

            #expect(try await fixture.rows("SELECT item_id AS row FROM changes") == ["facebook:one"])
            #expect(!network.asked.value.contains("feed ann"))
        }
    }
}

extension Fixture {
    /// Ann is there: whoever opens a stream has all his lists looked at soon.
    fileprivate func pollSoon() async throws {
        try await PollStore(db: service.database.pool).pollSoon(ann.id, now: clock.read(), pause: Poller.pause)
    }

    /// From now until the next look at the only list there is.
    func secondsUntilDue() async throws -> Int {
        let now = Timestamp.string(from: clock.read())
        let found = try await rows(
            """
            SELECT round(extract(epoch FROM due_at - '\(now)'::timestamptz))::text AS row
            FROM polled_lists WHERE isfinite(due_at)
            """
        )
        return Int(found.first ?? "") ?? -1
    }

    /// Goes on until one more look was taken, and what it saw is written down.
    func polled(at network: MemoryNetwork, _ what: String) async throws {
        let word = what.prefix { $0 != " " }
        let list = word == "threads" ? "messages" : String(word)
        // The first look comes by itself: one that is under way when the clock is put on would be taken for the next.
        try await settled(list)
        let before = network.asked.value.count { $0 == what }
        clock.advance(by: 1_000)
        try await eventually(within: .seconds(30), "looked at") { network.asked.value.count { $0 == what } > before }
        try await settled(list)
    }

    /// Waits until the only list of that kind is neither due nor looked at.
    func settled(_ list: String) async throws {
        let now = Timestamp.string(from: clock.read())
        let end = Timestamp.string(from: clock.read().addingTimeInterval(60))
        // A look is put off only when all else of it is done; until then it is claimed for a minute.
        try await eventually(within: .seconds(30), "put off") {
            try await rows(
                """
                SELECT list AS row FROM polled_lists WHERE list = '\(list)' AND due_at > timestamptz '\(now)'
                    AND due_at NOT BETWEEN timestamptz '\(end)' - interval '1 ms' AND timestamptz '\(end)' + interval '1 ms'
                """
            ).count == 1
        }
    }
}
