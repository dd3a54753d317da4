import Foundation
import PushAPI
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Pushes of changes") struct ChangePushTests {
    private func withPush(_ body: (SocialFixture, FakePush) async throws -> Void) async throws {
        let push = FakePush()
        try await withSocial(settings: ["PUSH_URL": "http://push"], peers: ["push": push.client]) { fixture in
            try await fixture.link(.facebook)
            try await body(fixture, push)
        }
    }

    /// Delivers a webhook of Facebook about an item of Ana's feed.
    private func deliver(_ change: String, _ id: String, at time: Int, _ fixture: SocialFixture) async throws {
        let answer = try await fixture.service.call("/webhooks/facebook", "id of ann \(change) \(id) \(time)")
        #expect(answer.status == 200)
    }

    @Test("A new item alerts, with the item in the payload")
    func created() async throws {
        try await withPush { fixture, push in
            try await deliver("created", "one", at: 7, fixture)
            try await push.waitForNotifications(1)

            let request = try #require(push.taken.first)
            let data = try #require(request.data)
            #expect(request.title == "Someone · facebook")
            #expect(request.body == "text of one")
            #expect(data["event"].string == "created")
            #expect(data["id"].string == "facebook:one")
            #expect(data["list"].string == "feed")
            #expect(data["item"]["text"].string == "text of one")
            #expect(data["item"]["author"]["name"].string == "Someone")
        }
    }

    @Test("The push of an item does not replace the push of another")
    func collapseKeys() async throws {
        try await withPush { fixture, push in
            try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "push")
            for id in ["one", "two"] { try await deliver("created", id, at: 7, fixture) }
            for id in ["one", "two"] { try await deliver("deleted", id, at: 7, fixture) }
            try await push.waitForNotifications(4)

            func keys(_ event: String) -> [String?] {
                push.taken.filter { $0.data?["event"].string == event }.map(\.collapseKey)
            }
            let alerts = keys("created").compactMap(\.self)
            #expect(Set(alerts).count == 2)
            #expect(alerts.allSatisfy { $0.utf8.count <= 64 })
            // FCM keeps four collapse keys per device, and more than four items may change.
            #expect(keys("deleted") == [nil, nil])
        }
    }

    @Test("A deleted item is a silent push to a user with a device")
    func deleted() async throws {
        try await withPush { fixture, push in
            try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "push")
            try await deliver("created", "one", at: 7, fixture)
            try await deliver("deleted", "one", at: 7, fixture)
            try await push.waitForNotifications(2)

            let request = try #require(push.taken.first { $0.data?["event"].string == "deleted" })
            #expect(request.title == nil)
            #expect(request.body == nil)
            #expect(request.data?["id"].string == "facebook:one")
            #expect(request.priority == .low)
        }
    }

    @Test("Without a device there is no silent push")
    func noDevice() async throws {
        try await withPush { fixture, push in
            try await deliver("created", "one", at: 7, fixture)
            try await deliver("deleted", "one", at: 7, fixture)
            try await push.waitForNotifications(1)

            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            #expect(push.taken.compactMap { $0.data?["event"].string } == ["created"])
        }
    }

    @Test("An item that is too long for a push loses long fields but keeps its id")
    func longItem() async throws {
        try await withPush { fixture, push in
            let network = fixture.networks[.mastodon]
            try await fixture.link(.mastodon)
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { _ in
                    try await eventually { network.openStreams.value["ann"] != nil }
                    var long = network.item("long", at: 1)
                    long.item.url = "https://mastodon.example/" + String(repeating: "a", count: 5_000)
                    network.emit("ann", .created(long))
                    try await push.waitForNotifications(1)
                }
            }
            let data = try #require(push.taken.first?.data)
            #expect(data["id"].string == "mastodon:long")
            #expect(data["item"]["url"] == .null)
            #expect(data["item"]["text"].string == "text of long")
            let size = try data.compact().count
            #expect(size < 3_000)
        }
    }

    @Test("Expired access is one event and one push")
    func reauthenticate() async throws {
        try await withPush { fixture, push in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .fails(NetworkError(.auth, "invalid_grant")) }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    for _ in 0..<3 { _ = try await fixture.ann.read("/feed") }

                    let event = await stream.event()
                    #expect(event?.name == "reauthenticate")
                    #expect(event?.json["network"].string == "twitter")
                    #expect(event?.json["state"].string == "reauthenticate")
                }
            }
            try await push.waitForNotifications(1)
            try await eventually { try await fixture.rows("SELECT '' AS row FROM changes WHERE needs_push").isEmpty }
            let request = try #require(push.taken.first)
            #expect(push.taken.count == 1)
            #expect(request.titleMessage == NotificationText("social.link.title", ["network": .text("twitter")]))
            #expect(request.bodyMessage == NotificationText("social.link.body", ["network": .text("twitter")]))
            #expect(request.data?["event"].string == "reauthenticate")
            #expect(request.data?["network"].string == "twitter")

            // The next expired access is another event.
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r2", "expires_in": 100"#)
            _ = try await fixture.ann.read("/feed")
            try await push.waitForNotifications(2)
            #expect(push.taken.compactMap { $0.data?["event"].string } == ["reauthenticate", "reauthenticate"])
        }
    }
}
