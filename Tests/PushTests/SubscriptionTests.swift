import Foundation
import HTTPTypes
import PushAPI
import TestSupport
import Testing
import Wire

@testable import PushServer

@Suite("Subscriptions and topics") struct SubscriptionTests {
    @Test("A new subscription has the defaults, and is found regardless of case")
    func defaults() async throws {
        try await withPush { fixture in
            let made = try await fixture.ann.preferences.subscribe(to: "Pianist")

            #expect(made == Subscription(broadcaster: "Pianist"))
            #expect(made.notify)
            #expect(!made.cooldown)
            #expect(made.sound == "chord")
            #expect(try await fixture.ann.preferences.subscription("PIANIST") == made)
            #expect(try await fixture.bob.ask(.get, "/subscriptions/pianist").status == 404)
        }
    }

    @Test("An update changes only the fields that it has")
    func partialUpdate() async throws {
        try await withPush { fixture in
            let ann = fixture.ann.preferences
            let icon = "https://example.org/icon.png"
            let draft = SubscriptionChanges(
                notify: false,
                sound: "mind-you",
                disabledCommunities: ["TalentShow", "talentshow", "Pan"],
                iconUrl: .set(icon)
            )
            try await ann.subscribe(to: "Pianist", draft)
            let changed = try await ann.subscribe(to: "pianist", .init(cooldown: true))
            #expect(
                changed
                    == Subscription(
                        broadcaster: "Pianist",
                        notify: false,
                        cooldown: true,
                        sound: "mind-you",
                        disabledCommunities: ["pan", "talentshow"],
                        iconUrl: icon
                    )
            )
            #expect(try await ann.subscribe(to: "pianist") == changed)
            // Older apps send the sound `default`.
            let reset = try await ann.subscribe(to: "pianist", .init(sound: "default", iconUrl: .cleared))
            #expect(reset.sound == "chord")
            #expect(reset.iconUrl == nil)
            #expect(!reset.notify)
        }
    }

    @Test("Subscribing again after unsubscribing starts from the defaults")
    func resubscribe() async throws {
        try await withPush { fixture in
            let ann = fixture.ann.preferences
            try await ann.subscribe(to: "pianist", .init(notify: false, cooldown: true, sound: "swop"))
            try await ann.unsubscribe(from: "PIANIST")
            try await ann.unsubscribe(from: "pianist")
            try await ann.unsubscribe(from: "unknown")

            #expect(try await ann.subscriptions().items.isEmpty)
            #expect(try await fixture.ann.ask(.get, "/subscriptions/pianist").problem?.code == "subscription_not_found")
            #expect(try await fixture.rows("SELECT broadcaster AS row FROM subscriptions") == ["pianist"])
            #expect(try await ann.subscribe(to: "Pianist") == Subscription(broadcaster: "Pianist"))
        }
    }

    @Test("An import adds new broadcasters, and leaves existing and removed ones alone")
    func importing() async throws {
        try await withPush { fixture in
            let ann = fixture.ann.preferences
            try await ann.subscribe(to: "kept", .init(notify: false, cooldown: true, sound: "swop"))
            try await ann.subscribe(to: "removed")
            try await ann.unsubscribe(from: "removed")
            let social = SubscriptionsClient(try fixture.service.peerClient("social", callee: "push"))
            let icon = "https://example.org/icon.png"
            let found: [SubscriptionImport.Broadcaster] = [
                .init(name: "KEPT", iconUrl: icon), .init(name: "Removed"), .init(name: "New", iconUrl: icon),
                .init(name: "new"), .init(name: ""), .init(name: "Plain", iconUrl: "javascript:alert(1)"),
            ]

            #expect(try await social.add(found, to: fixture.ann.id).added == ["New", "Plain"])
            #expect(try await social.add(found, to: fixture.ann.id).added.isEmpty)
            #expect(
                try await ann.subscriptions().items == [
                    Subscription(broadcaster: "kept", notify: false, cooldown: true, sound: "swop"),
                    Subscription(broadcaster: "New", iconUrl: icon), Subscription(broadcaster: "Plain"),
                ]
            )
            #expect(try await fixture.bob.preferences.subscriptions().items.isEmpty)
            let path = "/internal/subscriptions/import"
            #expect(try await fixture.ann.ask(.post, path, "{}").status == 403)
            let many = (0...SubscriptionImport.maximum).map { SubscriptionImport.Broadcaster(name: "\($0)") }
            await #expect(throws: APIError.self) { try await social.add(many, to: fixture.ann.id) }
        }
    }

    @Test("A subscription over the limit is rejected, and as many removed ones are kept")
    func limit() async throws {
        try await withPush(change: { $0.maximumSubscriptionsPerUser = 3 }) { fixture in
            let ann = fixture.ann.preferences
            for name in ["a", "b", "c"] { try await ann.subscribe(to: name) }
            let refused = try await fixture.ann.ask(.put, "/subscriptions/d", "{}")
            #expect(refused.status == 422)
            #expect(refused.problem?.code == "too_many_subscriptions")
            try await ann.subscribe(to: "a", .init(cooldown: true))

            try await ann.unsubscribe(from: "a")
            let social = SubscriptionsClient(try fixture.service.peerClient("social", callee: "push"))
            let found = ["a", "e", "f"].map { SubscriptionImport.Broadcaster(name: $0) }
            #expect(try await social.add(found, to: fixture.ann.id).added == ["e"])
            // At most three removed subscriptions are kept.
            for name in ["b", "c", "e"] { try await ann.unsubscribe(from: name) }
            let rows = try await fixture.rows("SELECT broadcaster AS row FROM subscriptions ORDER BY broadcaster")
            #expect(rows == ["b", "c", "e"])
        }
    }

    @Test("Subscriptions are listed by name in pages, and a cursor is valid for its user only")
    func paging() async throws {
        try await withPush { fixture in
            for name in ["beta", "Alpha", "gamma", "Ünï/côdé", "Delta"] {
                try await fixture.ann.preferences.subscribe(to: name)
            }
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await fixture.ann.preferences.subscriptions(limit: 2, cursor: cursor)
                found += page.items.map(\.broadcaster)
                cursor = page.next
            } while cursor != nil
            #expect(found == ["Alpha", "beta", "Delta", "gamma", "Ünï/côdé"])
            #expect(try await fixture.ann.preferences.subscription("ÜNÏ/CÔDÉ").broadcaster == "Ünï/côdé")
            let annsCursor = try #require(try await fixture.ann.preferences.subscriptions(limit: 2).next)
            #expect(try await fixture.bob.ask(.get, "/subscriptions?cursor=\(annsCursor)").problem?.field == "cursor")
        }
    }

    @Test(
        "An invalid name or field is rejected, and nothing is stored",
        arguments: [
            ("x", #"{"sound": "gong"}"#, "sound"), ("x", #"{"sound": null}"#, "sound"),
            ("x", #"{"notify": "on"}"#, "notify"), ("x", #"{"cooldown": 14400}"#, "cooldown"),
            ("x", #"{"disabledCommunities": ["a", "\u0007"]}"#, "disabledCommunities[1]"),
            ("x", #"{"iconUrl": "javascript:alert(1)"}"#, "iconUrl"), ("x", #"{"iconUrl": "/icon.png"}"#, "iconUrl"),
            (String(repeating: "x", count: 101), "{}", "broadcaster"), ("a%0Ab", "{}", "broadcaster"),
            ("%E2%80%8B", "{}", "broadcaster"),
        ]
    )
    func invalidFields(name: String, body: String, field: String) async throws {
        try await withPush { fixture in
            let response = try await fixture.ann.ask(.put, "/subscriptions/\(name)", body)

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == field, "\(response.text)")
            #expect(try await fixture.ann.preferences.subscriptions().items.isEmpty)
        }
    }

    @Test("A user joins topics up to the limit and leaves them, and a malformed topic is rejected")
    func topics() async throws {
        try await withPush(change: { $0.maximumTopicsPerUser = 2 }) { fixture in
            let ann = fixture.ann.preferences
            #expect(try await ann.join(topic: "news:de") == TopicSubscription(topic: "news:de", subscribed: true))
            try await ann.join(topic: "news:de")
            try await ann.join(topic: "Weather")
            #expect(try await fixture.ann.ask(.put, "/topics/third/subscription").problem?.code == "too_many_topics")
            try await fixture.bob.preferences.join(topic: "Weather")
            #expect(try await ann.leave(topic: "Weather") == TopicSubscription(topic: "Weather", subscribed: false))
            try await ann.leave(topic: "Weather")
            for name in ["a%20b", "%C3%A9", "a%2Fb", String(repeating: "x", count: 101)] {
                let response = try await fixture.ann.ask(.put, "/topics/\(name)/subscription")
                #expect(response.status == 400)
                #expect(response.problem?.field == "topic")
            }
            let rows = try await fixture.rows(
                "SELECT concat_ws(' ', topic, user_id) AS row FROM topic_subscriptions ORDER BY 1"
            )
            #expect(rows == ["Weather bob", "news:de ann"])
        }
    }
}
