import Foundation
import PushAPI
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Polling of present users") struct PresenceTests {
    private static let eager = ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(1_000_000)]

    @Test("Lists of a user with an open stream are polled every 15 seconds")
    func stream() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.linkFeed()
            try await fixture.backOff()
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    for _ in 0..<6 {
                        try await fixture.poll(after: 15)
                        #expect(try await fixture.secondsUntilDue() <= 15)
                    }
                }
            }
        }
    }

    @Test("Lists of a user with a push device are polled every 15 seconds")
    func device() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.linkFeed()
            try await fixture.backOff()
            let before = try await fixture.secondsUntilDue()

            try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "push")

            #expect(before > 15)
            #expect(try await fixture.secondsUntilDue() <= 15)
            for _ in 0..<6 {
                try await fixture.poll(after: 15)
                #expect(try await fixture.secondsUntilDue() <= 15)
            }
        }
    }

    @Test("Lists of a user who lost the last device are polled less often")
    func lostDevice() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.linkFeed()
            try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "push")
            try await fixture.poll(after: 15)

            try await fixture.publish(fixture.devices(of: fixture.ann, false), from: "push")
            try await fixture.poll(after: 15)

            #expect(try await fixture.secondsUntilDue() > 15)
        }
    }

    @Test("A device of another user changes nothing")
    func otherUser() async throws {
        try await withSocial(settings: Self.eager) { fixture in
            try await fixture.linkFeed()
            try await fixture.backOff()

            try await fixture.publish(fixture.devices(of: fixture.bob, true), from: "push")

            #expect(try await fixture.secondsUntilDue() > 15)
        }
    }

    @Test("Only push may publish which users have a device")
    func publisher() async throws {
        try await withSocial { fixture in
            let error = await #expect(throws: APIError.self) {
                try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "photos")
            }
            #expect(error?.code == "caller_not_allowed")
        }
    }

    @Test("A present user is polled no more often than the budget allows")
    func budget() async throws {
        // The budget allows one poll at once, and another one every minute.
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(0) + ",twitter=60"]) {
            fixture in
            try await fixture.linkFeed()
            try await fixture.publish(fixture.devices(of: fixture.ann, true), from: "push")
            let before = fixture.networks[.twitter].asked.value.count { $0 == "feed ann" }

            fixture.clock.advance(by: 15)
            try await Task.sleep(for: .milliseconds(2_500))
            let early = fixture.networks[.twitter].asked.value.count { $0 == "feed ann" }
            fixture.clock.advance(by: 46)

            #expect(early == before)
            try await eventually { fixture.networks[.twitter].asked.value.count { $0 == "feed ann" } == before + 1 }
        }
    }
}

extension SocialFixture {
    /// Publishes an event to the service like another service does.
    func publish<Content: EventContent>(_ content: Content, from publisher: String) async throws {
        let json = try WireJSON.encoder().encode(content)
        let event = Event(
            id: UUID(),
            type: Content.type,
            at: Date(),
            content: try WireJSON.decoder().decode(JSONValue.self, from: json)
        )
        let client = try service.peerClient(publisher, callee: "social")
        _ = try await client.post("/internal/events", event, as: [String: Bool].self)
    }

    func devices(of person: TestUser, _ hasDevice: Bool) -> DevicesChanged {
        DevicesChanged(applicationId: person.id.application, userId: person.id.user, hasDevice: hasDevice)
    }

    /// Links Ana's Twitter account, of which only the feed is polled, and waits for the first poll.
    fileprivate func linkFeed() async throws {
        networks[.twitter].behavior.change { $0.supported = [.feed] }
        try await link(.twitter)
        try await settled("feed")
    }

    /// Polls until the pause has grown.
    fileprivate func backOff() async throws {
        for _ in 0..<4 { try await poll(after: 1_000) }
    }

    /// Advances the clock and waits for another poll of Ana's feed.
    fileprivate func poll(after seconds: TimeInterval) async throws {
        let network = networks[.twitter]
        try await settled("feed")
        let before = network.asked.value.count { $0 == "feed ann" }
        clock.advance(by: seconds)
        try await eventually(within: .seconds(30), "polled") {
            network.asked.value.count { $0 == "feed ann" } > before
        }
        try await settled("feed")
    }
}
