import Foundation
import HTTPTypes
import PushAPI
import TestSupport
import Testing
import Wire

/// Favourites.
@Suite struct SubscriptionTests {
    @Test func aNewOneNotifiesAndRingsAsUsual() async throws {
        try await withPush { scene in
            let made = try await scene.ann.preferences.subscribe(to: "Pianist")

            #expect(made == Subscription(broadcaster: "Pianist"))
            #expect(made.notify && !made.cooldown && made.sound == "chord")
            #expect(try await scene.ann.preferences.subscription("PIANIST") == made)
            #expect(try await scene.bob.ask(.get, "/subscriptions/pianist").status == 404)
        }
    }

    @Test func onlyWhatIsNamedChanges() async throws {
        try await withPush { scene in
            let ann = scene.ann.preferences
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
            // What older apps have stored.
            let reset = try await ann.subscribe(to: "pianist", .init(sound: "default", iconUrl: .cleared))
            #expect(reset.sound == "chord" && reset.iconUrl == nil && !reset.notify)
        }
    }

    @Test func oneThatWasRemovedBeginsAnew() async throws {
        try await withPush { scene in
            let ann = scene.ann.preferences
            try await ann.subscribe(to: "pianist", .init(notify: false, cooldown: true, sound: "swop"))
            try await ann.unsubscribe(from: "PIANIST")
            try await ann.unsubscribe(from: "pianist")
            try await ann.unsubscribe(from: "nobody ever")

            #expect(try await ann.subscriptions().things.isEmpty)
            #expect(try await scene.ann.ask(.get, "/subscriptions/pianist").problem?.code == "subscription_not_found")
            #expect(try await scene.rows("SELECT broadcaster AS row FROM subscriptions") == ["pianist"])
            #expect(try await ann.subscribe(to: "Pianist") == Subscription(broadcaster: "Pianist"))
        }
    }

    @Test func anImportAddsWhatIsNewAndTouchesNothingElse() async throws {
        try await withPush { scene in
            let ann = scene.ann.preferences
            try await ann.subscribe(to: "kept", .init(notify: false, cooldown: true, sound: "swop"))
            try await ann.subscribe(to: "removed")
            try await ann.unsubscribe(from: "removed")
            let social = SubscriptionsClient(try scene.service.neighbour("social", callee: "push"))
            let icon = "https://example.org/icon.png"
            let found: [SubscriptionImport.Found] = [
                .init(name: "KEPT", iconUrl: icon), .init(name: "Removed"), .init(name: "New", iconUrl: icon),
                .init(name: "new"), .init(name: ""), .init(name: "Plain", iconUrl: "javascript:alert(1)"),
            ]

            #expect(try await social.add(found, to: scene.ann.id).added == ["New", "Plain"])
            #expect(try await social.add(found, to: scene.ann.id).added.isEmpty)
            #expect(
                try await ann.subscriptions().things == [
                    Subscription(broadcaster: "kept", notify: false, cooldown: true, sound: "swop"),
                    Subscription(broadcaster: "New", iconUrl: icon), Subscription(broadcaster: "Plain"),
                ]
            )
            #expect(try await scene.bob.preferences.subscriptions().things.isEmpty)
            let path = "/internal/subscriptions/import"
            #expect(try await scene.ann.ask(.post, path, "{}").status == 403)
            let many = (0...SubscriptionImport.maximum).map { SubscriptionImport.Found(name: "\($0)") }
            await #expect(throws: APIError.self) { try await social.add(many, to: scene.ann.id) }
        }
    }

    @Test func thereAreSoManyAndNoMore() async throws {
        try await withPush(settings: ["PUSH_SUBSCRIPTIONS_PER_USER_MAX": "3"]) { scene in
            let ann = scene.ann.preferences
            for name in ["a", "b", "c"] { try await ann.subscribe(to: name) }
            let refused = try await scene.ann.ask(.put, "/subscriptions/d", "{}")
            #expect(refused.status == 422 && refused.problem?.code == "too_many_subscriptions")
            try await ann.subscribe(to: "a", .init(cooldown: true))

            try await ann.unsubscribe(from: "a")
            let social = SubscriptionsClient(try scene.service.neighbour("social", callee: "push"))
            let found = ["a", "e", "f"].map { SubscriptionImport.Found(name: $0) }
            #expect(try await social.add(found, to: scene.ann.id).added == ["e"])
            // As many that were removed are remembered.
            for name in ["b", "c", "e"] { try await ann.unsubscribe(from: name) }
            let rows = try await scene.rows("SELECT broadcaster AS row FROM subscriptions ORDER BY broadcaster")
            #expect(rows == ["b", "c", "e"])
        }
    }

    @Test func theListIsByNameAndPaged() async throws {
        try await withPush { scene in
            for name in ["beta", "Alpha", "gamma", "Ünï/côdé", "Delta"] {
                try await scene.ann.preferences.subscribe(to: name)
            }
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await scene.ann.preferences.subscriptions(limit: 2, cursor: cursor)
                found += page.things.map(\.broadcaster)
                cursor = page.next
            } while cursor != nil
            #expect(found == ["Alpha", "beta", "Delta", "gamma", "Ünï/côdé"])
            #expect(try await scene.ann.preferences.subscription("ÜNÏ/CÔDÉ").broadcaster == "Ünï/côdé")
            let anns = try #require(try await scene.ann.preferences.subscriptions(limit: 2).next)
            #expect(try await scene.bob.ask(.get, "/subscriptions?cursor=\(anns)").problem?.field == "cursor")
        }
    }

    @Test(arguments: [
        ("x", #"{"sound": "gong"}"#, "sound"), ("x", #"{"sound": null}"#, "sound"),
        ("x", #"{"notify": "on"}"#, "notify"), ("x", #"{"cooldown": 14400}"#, "cooldown"),
        ("x", #"{"disabledCommunities": ["a", "\u0007"]}"#, "disabledCommunities[1]"),
        ("x", #"{"iconUrl": "javascript:alert(1)"}"#, "iconUrl"), ("x", #"{"iconUrl": "/icon.png"}"#, "iconUrl"),
        (String(repeating: "x", count: 101), "{}", "broadcaster"), ("a%0Ab", "{}", "broadcaster"),
        ("%E2%80%8B", "{}", "broadcaster"),
    ])
    func whatMakesNoSenseIsRefusedByName(name: String, body: String, field: String) async throws {
        try await withPush { scene in
            let answer = try await scene.ann.ask(.put, "/subscriptions/\(name)", body)

            #expect(answer.status == 400 && answer.problem?.field == field, "\(answer.text)")
            #expect(try await scene.ann.preferences.subscriptions().things.isEmpty)
        }
    }

    @Test func topicsAreJoinedAndLeft() async throws {
        try await withPush(settings: ["PUSH_TOPICS_PER_USER_MAX": "2"]) { scene in
            let ann = scene.ann.preferences
            #expect(try await ann.join(topic: "news:de") == TopicSubscription(topic: "news:de", subscribed: true))
            try await ann.join(topic: "news:de")
            try await ann.join(topic: "Weather")
            #expect(try await scene.ann.ask(.put, "/topics/third/subscription").problem?.code == "too_many_topics")
            try await scene.bob.preferences.join(topic: "Weather")
            #expect(try await ann.leave(topic: "Weather") == TopicSubscription(topic: "Weather", subscribed: false))
            try await ann.leave(topic: "Weather")
            for name in ["a%20b", "%C3%A9", "a%2Fb", String(repeating: "x", count: 101)] {
                let answer = try await scene.ann.ask(.put, "/topics/\(name)/subscription")
                #expect(answer.status == 400 && answer.problem?.field == "topic")
            }
            let rows = try await scene.rows(
                "SELECT concat_ws(' ', topic, user_id) AS row FROM topic_subscriptions ORDER BY 1"
            )
            #expect(rows == ["Weather bob", "news:de ann"])
        }
    }
}
