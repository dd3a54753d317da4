import Foundation
import HTTPTypes
import PushAPI
import TestSupport
import Testing
import Wire

@Suite("Notification settings") struct SettingsTests {
    @Test("By default every kind is on, and there are no quiet hours")
    func defaults() async throws {
        try await withPush { fixture in
            let response = try await fixture.ann.ask(.get, "/notification-settings")

            #expect(try response.decode(NotificationSettings.self) == NotificationSettings())
            #expect(response.json["enabled"].bool == true)
            #expect(response.json["quietHours"] == .null)
            let kinds = ["message", "like", "comment", "follow", "broadcast", "social"]
            for kind in kinds { #expect(response.json["kinds"][kind].bool == true) }
            #expect(response.text.contains(#""quietHours":null"#))
            #expect(response.json["kinds"]["server"] == .null)
        }
    }

    @Test("An update changes only the fields that it has")
    func partialUpdate() async throws {
        try await withPush { fixture in
            let ann = fixture.ann.preferences
            try await ann.change(.init(kinds: [.like: false, .social: false]))
            let quiet = QuietHours(start: "22:30", end: "06:05", timeZone: "Europe/Berlin")
            try await ann.change(.init(quietHours: .set(quiet)))
            try await ann.change(.init(enabled: false, kinds: [.like: true, .follow: false]))
            try await ann.change(.init(disabledCommunities: ["RedditSets", "pan", "redditsets"]))
            let all = try await ann.settings()

            #expect(
                all
                    == NotificationSettings(
                        enabled: false,
                        quietHours: quiet,
                        disabledCommunities: ["pan", "redditsets"],
                        disabledKinds: [.follow, .social]
                    )
            )
            #expect(try await ann.change(.init()) == all)
            let loud = try await ann.change(.init(quietHours: .cleared, disabledCommunities: []))
            #expect(loud.quietHours == nil)
            #expect(loud.disabledCommunities.isEmpty)
            #expect(!loud.enabled)
            #expect(try await fixture.bob.preferences.settings() == NotificationSettings())
        }
    }

    @Test("Concurrent updates of different fields are all kept")
    func concurrentUpdates() async throws {
        try await withPush { fixture in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for kind in NotificationKind.optional {
                    tasks.addTask { try await fixture.ann.preferences.change(.init(kinds: [kind: false])) }
                }
                tasks.addTask { try await fixture.ann.preferences.change(.init(enabled: false)) }
                try await tasks.waitForAll()
            }
            let settings = try await fixture.ann.preferences.settings()
            #expect(!settings.enabled)
            #expect(!settings.kinds.values.contains(true))
        }
    }

    @Test(
        "Quiet hours accept the names of the time zone database",
        arguments: [
            "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Calcutta", "Etc/GMT+5", "UTC", "US/Pacific",
        ]
    )
    func timeZones(_ zone: String) async throws {
        try await withPush { fixture async throws in
            let quiet = QuietHours(start: "00:00", end: "23:59", timeZone: zone)
            #expect(try await fixture.ann.preferences.change(.init(quietHours: .set(quiet))).quietHours == quiet)
        }
    }

    @Test(
        "An invalid field is rejected by name, and nothing changes",
        arguments: [
            (#"{"enabled": "yes"}"#, "enabled"), (#"{"enabled": null}"#, "enabled"),
            (#"{"kinds": {"fax": true}}"#, "kinds.fax"), (#"{"kinds": {"server": false}}"#, "kinds.server"),
            (#"{"kinds": {"like": 1}}"#, "kinds.like"), (#"{"kinds": null}"#, "kinds"), (#"{"kinds": []}"#, "kinds"),
            (#"{"quietHours": {"start": "22:00", "end": "06:00"}}"#, "quietHours.timeZone"),
            (#"{"quietHours": {"end": "06:00", "timeZone": "UTC"}}"#, "quietHours.start"),
            (#"{"quietHours": {"start": "24:00", "end": "06:00", "timeZone": "UTC"}}"#, "quietHours.start"),
            (#"{"quietHours": {"start": "22:60", "end": "06:00", "timeZone": "UTC"}}"#, "quietHours.start"),
            (#"{"quietHours": {"start": "2:00", "end": "06:00", "timeZone": "UTC"}}"#, "quietHours.start"),
            (#"{"quietHours": {"start": "22:00", "end": "+6:00", "timeZone": "UTC"}}"#, "quietHours.end"),
            (#"{"quietHours": {"start": "22:00", "end": "22:00", "timeZone": "UTC"}}"#, "quietHours.end"),
            (#"{"quietHours": {"start": "22:00", "end": "06:00", "timeZone": "Mars/Olympus"}}"#, "quietHours.timeZone"),
            (#"{"quietHours": {"start": "22:00", "end": "06:00", "timeZone": "PST"}}"#, "quietHours.timeZone"),
            (#"{"quietHours": {"start": "22:00", "end": "06:00", "timeZone": "GMT+3"}}"#, "quietHours.timeZone"),
            (#"{"disabledCommunities": "pan"}"#, "disabledCommunities"),
            (#"{"disabledCommunities": ["pan", ""]}"#, "disabledCommunities[1]"),
            (#"{"disabledCommunities": ["\#(String(repeating: "x", count: 101))"]}"#, "disabledCommunities[0]"),
            (#"{"disabledCommunities": [\#(String(repeating: #""x","#, count: 500))"x"]}"#, "disabledCommunities"),
        ]
    )
    func invalidFields(body: String, field: String) async throws {
        try await withPush { fixture in
            let response = try await fixture.ann.ask(.put, "/notification-settings", body)

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == field, "\(response.text)")
            #expect(try await fixture.ann.preferences.settings() == NotificationSettings())
        }
    }
}
