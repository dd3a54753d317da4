import Foundation
import PushAPI
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Polling") struct PollerTests {
    private static let eager = ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(1_000_000)]

    @Test("A poll records updated, created and deleted items")
    func changes() async throws {
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

            let recorded = try await fixture.rows("SELECT kind || ' ' || item_id AS row FROM changes ORDER BY number")

            // The last item of a page may have moved to the next page, so its absence is not a deletion.
            #expect(recorded == ["updated twitter:ann-1", "created twitter:new", "deleted twitter:ann-0"])
        }
    }

    @Test("A new notification is pushed once, even if a response is lost")
    func push() async throws {
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

    @Test("A new message in a thread is pushed unless the user wrote it")
    func threadPush() async throws {
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
            // The thread exists before the first poll, which may run as soon as the account is linked.
            network.lists.change { $0["ann/threads"] = [thread("an old message", at: 1, by: "bob", unread: 1)] }
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "threads ann")
            for update in [
                thread("are you there?", at: 2, by: "bob", unread: 2), thread("yes", at: 3, by: "id of ann", unread: 0),
                thread("yes", at: 3, by: "id of ann", unread: 1), thread("well then", at: 4, by: "bob", unread: 1),
            ] {
                network.lists.change { $0["ann/threads"] = [update] }
                try await fixture.polled(at: network, "threads ann")
            }
            try await push.waitForNotifications(2)

            #expect(try await fixture.rows("SELECT kind AS row FROM changes").count == 4)
            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(push.bodies == ["are you there?", "well then"])
        }
    }

    @Test("Two users with long ids that share a prefix both receive the push")
    func longUserIDs() async throws {
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

    @Test("Polls stay within the hourly budget of the network")
    func budget() async throws {
        // The budget allows two polls at once, and another one every 30 seconds.
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(0) + ",twitter=120"]) {
            fixture in
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
            // No other polls have run, although thirty lists are due.
            let counted = try await fixture.rows("SELECT (polls < 1)::text AS row FROM poll_budgets")

            #expect(polls() == 4)
            #expect(counted == ["true"])
        }
    }

    @Test("An unchanged list is polled less and less often, and a changed one after 15 seconds")
    func backoff() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.link(.twitter)
            for _ in 0..<4 { try await fixture.polled(at: network, "feed ann") }
            let unchanged = try await fixture.rows(
                "SELECT round(pause)::text AS row FROM polled_lists WHERE list = 'feed'"
            )
            network.fill("ann", times: [1])
            try await fixture.polled(at: network, "feed ann")

            let changed = try await fixture.rows(
                "SELECT round(pause)::text AS row FROM polled_lists WHERE list = 'feed'"
            )

            #expect(Int(unchanged[0]) ?? 0 >= 50)
            #expect(changed == ["15"])
        }
    }

    @Test("A hanging poll does not delay other polls")
    func hangingPoll() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.supported = [.feed] }
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "feed ann")
            // The poll keeps hanging after the network has recovered, and even after it is canceled, because on a busy
            // machine the time until the next poll has no bound.
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

    @Test("Polls use less than half of the remaining rate limit of an account")
    func accountBudget() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            let network = fixture.networks[.twitter]
            let end = fixture.clock.read().addingTimeInterval(1_900)
            network.behavior.change {
                $0.supported = [.feed]
                $0.budget = Budget(scope: .account, limit: 15, remaining: 9, resetAt: end)
            }
            try await fixture.link(.twitter)

            // Polls may use four of the nine requests in the remaining 1,900 seconds of the window.
            try await eventually { try await fixture.secondsUntilDue() == 475 }

            // The user's presence does not make the next poll earlier.
            try await fixture.pollSoon()
            #expect(try await fixture.secondsUntilDue() == 475)
        }
    }

    @Test("A list of a present user is polled after 15 seconds, and not earlier")
    func minimumInterval() async throws {
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

    @Test("A list is not polled before its rate limit ends, even for a present user")
    func retryAfter() async throws {
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

    @Test("Unlinking an account ends its polls")
    func unlinked() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.link(.twitter)
            try await fixture.polled(at: fixture.networks[.twitter], "feed ann")

            _ = try await fixture.ann.ask(.delete, "/networks/twitter")

            #expect(try await fixture.rows("SELECT list AS row FROM polled_lists").isEmpty)
        }
    }

    @Test("A list that the network does not support is not polled")
    func unsupportedList() async throws {
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

extension SocialFixture {
    /// Makes Ana's lists due soon, like opening a stream does.
    fileprivate func pollSoon() async throws {
        try await PollStore(db: service.database.pool).pollSoon(ann.id, now: clock.read(), pause: Poller.pause)
    }

    /// Returns the seconds until the next poll of the only list.
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

    /// Advances the clock and waits until another poll has run and is recorded.
    func polled(at network: MemoryNetwork, _ what: String) async throws {
        let request = what.prefix { $0 != " " }
        let list = request == "threads" ? "messages" : String(request)
        // A first poll that is still running when the clock advances would be taken for the next one.
        try await settled(list)
        let before = network.asked.value.count { $0 == what }
        clock.advance(by: 1_000)
        try await eventually(within: .seconds(30), "polled") { network.asked.value.count { $0 == what } > before }
        try await settled(list)
    }

    /// Waits until the only list of that kind is neither due nor being polled.
    func settled(_ list: String) async throws {
        let now = Timestamp.string(from: clock.read())
        let end = Timestamp.string(from: clock.read().addingTimeInterval(60))
        // A poll sets the next time as its last step; until then the list is claimed for a minute.
        try await eventually(within: .seconds(30), "rescheduled") {
            try await rows(
                """
                SELECT list AS row FROM polled_lists WHERE list = '\(list)' AND due_at > timestamptz '\(now)'
                    AND due_at NOT BETWEEN timestamptz '\(end)' - interval '1 ms' AND timestamptz '\(end)' + interval '1 ms'
                """
            ).count == 1
        }
    }
}
