import Foundation
import PushAPI
import Testing
import Wire

@testable import PushServer

@Suite("Notification rules") struct RulesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var notification = RulesTests.notification()
        var person = RecipientSettings()
        var hasDevice = true
        let decision: RuleDecision

        var testDescription: String { name }
    }

    private static let now = PipelineFixture.noon
    private static let lunch = QuietWindow(start: 11 * 60, end: 13 * 60, timeZone: "UTC")
    private static let favourite = FavouriteSettings(
        notify: true,
        cooldown: false,
        sound: "whistle",
        disabledCommunities: [],
        lastAccepted: nil
    )

    private static func notification(
        _ kind: NotificationKind = .message,
        community: String? = nil,
        sound: String? = nil,
        isShown: Bool = true,
        expires: Date = now.addingTimeInterval(60),
        isCancelled: Bool = false
    ) -> PendingNotification {
        PendingNotification(
            key: 1,
            application: kind == .broadcast ? "" : "acme",
            kind: kind,
            about: kind == .broadcast ? "pianist" : nil,
            community: community,
            badge: nil,
            sound: sound,
            isShown: isShown,
            collapseKey: nil,
            priority: 0,
            expires: expires,
            isCancelled: isCancelled
        )
    }

    private static func person(_ change: (inout RecipientSettings) -> Void) -> RecipientSettings {
        var person = RecipientSettings()
        person.favourite = favourite
        change(&person)
        return person
    }

    private static let cases = [
        Case(name: "default settings", decision: .send),
        Case(
            name: "all notifications are off",
            person: person { $0.isEnabled = false },
            decision: .withhold(.disabled)
        ),
        Case(
            name: "the kind is off",
            person: person { $0.disabledKinds = ["message"] },
            decision: .withhold(.kindDisabled)
        ),
        Case(name: "another kind is off", person: person { $0.disabledKinds = ["like"] }, decision: .send),
        Case(
            name: "a notification of the application has no kind to turn off",
            notification: notification(.server),
            person: person { $0.disabledKinds = ["server"] },
            decision: .send
        ),
        Case(
            name: "all notifications are off, and the application sends",
            notification: notification(.server),
            person: person { $0.isEnabled = false },
            decision: .withhold(.disabled)
        ),
        Case(name: "no device", hasDevice: false, decision: .withhold(.noDevice)),
        Case(
            name: "quiet hours",
            person: person { $0.quietHours = lunch },
            decision: .hold(until: date("2026-11-21T13:00:00Z"))
        ),
        Case(
            name: "quiet hours, and no device",
            person: person { $0.quietHours = lunch },
            hasDevice: false,
            decision: .withhold(.noDevice)
        ),
        Case(name: "a favourite", notification: notification(.broadcast), person: person { _ in }, decision: .send),
        Case(
            name: "not a favourite",
            notification: notification(.broadcast),
            decision: .withhold(.notFavourite)
        ),
        Case(
            name: "a favourite that is off",
            notification: notification(.broadcast),
            person: person { $0.favourite?.notify = false },
            decision: .withhold(.favouriteOff)
        ),
        Case(
            name: "broadcasts are off",
            notification: notification(.broadcast),
            person: person { $0.disabledKinds = ["broadcast"] },
            decision: .withhold(.kindDisabled)
        ),
        Case(
            name: "a disabled community",
            notification: notification(.broadcast, community: "redditsets"),
            person: person { $0.disabledCommunities = ["redditsets"] },
            decision: .withhold(.communityDisabled)
        ),
        Case(
            name: "a community that is disabled for this favourite",
            notification: notification(.broadcast, community: "redditsets"),
            person: person { $0.favourite?.disabledCommunities = ["redditsets"] },
            decision: .withhold(.favouriteCommunityDisabled)
        ),
        Case(
            name: "another community",
            notification: notification(.broadcast, community: "pan"),
            person: person { $0.disabledCommunities = ["redditsets"] },
            decision: .send
        ),
        Case(
            name: "one second before the end of the cooldown",
            notification: notification(.broadcast),
            person: person {
                $0.favourite?.cooldown = true
                $0.favourite?.lastAccepted = now.addingTimeInterval(-14_399)
            },
            decision: .withhold(.cooldown)
        ),
        Case(
            name: "the end of the cooldown",
            notification: notification(.broadcast),
            person: person {
                $0.favourite?.cooldown = true
                $0.favourite?.lastAccepted = now.addingTimeInterval(-14_400)
            },
            decision: .send
        ),
        Case(
            name: "cooldown off",
            notification: notification(.broadcast),
            person: person { $0.favourite?.lastAccepted = now },
            decision: .send
        ),
        Case(
            name: "expired",
            notification: notification(expires: now),
            person: person { $0.quietHours = lunch },
            decision: .expired
        ),
        Case(name: "cancelled", notification: notification(isCancelled: true), decision: .cancelled),
    ]

    @Test("The decision depends on settings, devices, favourites and quiet hours", arguments: cases)
    func decision(_ given: Case) {
        var clock = QuietHoursClock(now: Self.now)

        let decision = Rules(cooldown: 14_400)
            .decide(given.notification, for: given.person, hasDevice: given.hasDevice, &clock)

        #expect(decision == given.decision)
    }

    @Test("A favourite's sound precedes the notification's, and an unknown sound becomes the default")
    func sound() {
        let rules = Rules(cooldown: 0)
        let person = Self.person { _ in }

        #expect(rules.sound(of: Self.notification(.broadcast, sound: "news"), for: person) == "whistle")
        #expect(rules.sound(of: Self.notification(.message, sound: "news"), for: person) == "news")
        #expect(rules.sound(of: Self.notification(.message), for: person) == "chord")
        #expect(rules.sound(of: Self.notification(.message, sound: "gong"), for: person) == "chord")
        #expect(rules.sound(of: Self.notification(.message, isShown: false), for: person) == nil)
    }

    @Test("A silent change of a network ignores settings and quiet hours; an alert respects them")
    func silentChanges() {
        let rules = Rules(cooldown: 0)
        let person = Self.person { person in
            person.isEnabled = false
            person.disabledKinds = ["social"]
            person.quietHours = Self.lunch
        }
        func decide(isShown: Bool, hasDevice: Bool = true) -> RuleDecision {
            var clock = QuietHoursClock(now: Self.now)
            return rules.decide(Self.notification(.social, isShown: isShown), for: person, hasDevice: hasDevice, &clock)
        }

        #expect(decide(isShown: false) == .send)
        #expect(decide(isShown: false, hasDevice: false) == .withhold(.noDevice))
        #expect(decide(isShown: true) == .withhold(.disabled))
    }

    @Test("A badge counts up to 1,000,000, and only for known devices")
    func badgeCounts() {
        var badges = BadgeCounts([1: 4, 2: 1_000_000])

        #expect(badges.count(.increment, for: 1) == 5)
        #expect(badges.count(.number(0), for: 1) == 0)
        #expect(badges.count(.increment, for: 1) == 1)
        #expect(badges.count(.increment, for: 2) == 1_000_000)
        #expect(badges.count(.increment, for: 3) == nil)
        #expect(badges.numbers == [1: 1, 2: 1_000_000])
    }

    @Test("There are 23 sounds, and `default` is an alias of `chord`")
    func soundNames() {
        #expect(NotificationSound.names.count == 23)
        #expect(NotificationSound.named("default") == "chord")
        #expect(NotificationSound.named("gong") == nil)
    }
}
