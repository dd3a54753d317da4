import Configuration
import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import Testing
import TestSupport
import Wire

@Suite("Event subscribers") struct EventSubscriberTests {
    private let fixture = EventFixture()

    @Test("Without a subscriber an event is not stored")
    func noSubscribers() async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        for subscribers in ["", "other.event=listener"] {
            try await TestService.with(
                PublisherService.self,
                settings: ["EVENT_SUBSCRIBERS": subscribers],
                peers: .with(["auth": auth])
            ) { publisher in
                try await fixture.publish(fixture.words(3, by: "ann"), at: publisher)
                #expect(try await fixture.waiting(at: publisher) == 0)
            }
        }
    }

    @Test("A subscriber that is unavailable does not delay another")
    func independentSubscribers() async throws {
        try await fixture.withSubscriber { subscriber in
            try await subscriber.served { port in
                let listening = try fixture.peers(at: port)
                let peers = PeerServices { name in
                    try listening.client(name == "away" ? "nobody" : name)
                }
                try await TestService.with(
                    PublisherService.self,
                    settings: ["EVENT_SUBSCRIBERS": " word.said = away + listener , word.said=listener"],
                    peers: peers
                ) { publisher in
                    try await fixture.publish(fixture.words(3, by: "ann"), at: publisher)
                    #expect(try await fixture.received(3, at: subscriber)["ann"]?.count == 3)
                    try await fixture.untilDelivered(but: 3, at: publisher)
                    let left = try await publisher.database.pool.all("SELECT DISTINCT subscriber FROM event_outbox") {
                        try $0.string("subscriber")
                    }
                    #expect(left == ["away"])
                }
            }
        }
    }

    @Test(
        "A malformed list of subscribers is refused",
        arguments: ["push", "=push", "a=", "a=b=c", "a=b+", "A=push", "a=push,,", "a=http://127.0.0.1", "a=p u"]
    )
    func malformedSetting(_ setting: String) throws {
        let settings = EnvironmentVariablesProvider(environmentVariables: ["EVENT_SUBSCRIBERS": setting])
        let reader = ConfigReader(provider: settings)
        #expect(throws: SettingError.self) {
            _ = try EventSubscribers(reader, types: ["a"], peers: .none)
        }
    }

    @Test("Names of events may contain dots and underscores")
    func names() throws {
        let settings = ["EVENT_SUBSCRIBERS": "user.deletion_completed=push", "PUSH_URL": "http://127.0.0.1:8085"]
        let reader = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        let tokens = try ServiceTokens(secret: TestService.secret, name: "social")
        let peers = PeerServices.overHTTP(configuration: reader, tokens: tokens)
        #expect(throws: Never.self) {
            _ = try EventSubscribers(reader, types: ["user.deletion_completed"], peers: peers)
        }
    }

    @Test("A subscriber without a URL is refused, unless it subscribes to no event of the service")
    func missingSubscriberURL() throws {
        let settings = EnvironmentVariablesProvider(environmentVariables: ["EVENT_SUBSCRIBERS": "a=elsewhere"])
        let reader = ConfigReader(provider: settings)
        let tokens = try ServiceTokens(secret: TestService.secret, name: "social")
        let peers = PeerServices.overHTTP(configuration: reader, tokens: tokens)
        #expect(throws: SettingError.self) { _ = try EventSubscribers(reader, types: ["a"], peers: peers) }
        #expect(throws: Never.self) { _ = try EventSubscribers(reader, types: ["b"], peers: peers) }
    }
}
