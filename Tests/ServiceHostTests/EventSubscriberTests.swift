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

/// Who is told of what.
@Suite struct EventSubscriberTests {
    private let scene = EventScene()

    @Test func withoutSubscribersNothingIsKept() async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        for subscribers in ["", "other.event=listener"] {
            try await TestService.with(
                TellerService.self,
                settings: ["EVENT_SUBSCRIBERS": subscribers],
                neighbours: .with(["auth": auth])
            ) { teller in
                try await scene.say(scene.words(3, by: "ann"), at: teller)
                #expect(try await scene.waiting(at: teller) == 0)
            }
        }
    }

    @Test func eachSubscriberIsToldByItself() async throws {
        try await scene.withListener { listener in
            try await listener.served { port in
                let listening = try scene.neighbours(at: port)
                let neighbours = Neighbours { name in
                    try listening.client(name == "away" ? "nobody" : name)
                }
                try await TestService.with(
                    TellerService.self,
                    settings: ["EVENT_SUBSCRIBERS": " word.said = away + listener , word.said=listener"],
                    neighbours: neighbours
                ) { teller in
                    try await scene.say(scene.words(3, by: "ann"), at: teller)
                    #expect(try await scene.heard(3, at: listener)["ann"]?.count == 3)
                    try await scene.untilTold(but: 3, at: teller)
                    let left = try await teller.database.pool.all("SELECT DISTINCT subscriber FROM event_outbox") {
                        try $0.string("subscriber")
                    }
                    #expect(left == ["away"])
                }
            }
        }
    }

    @Test(arguments: ["push", "=push", "a=", "a=b=c", "a=b+", "A=push", "a=push,,", "a=http://127.0.0.1", "a=p u"])
    func aSettingThatMakesNoSenseEndsTheStart(_ setting: String) throws {
        let settings = EnvironmentVariablesProvider(environmentVariables: ["EVENT_SUBSCRIBERS": setting])
        let reader = ConfigReader(provider: settings)
        #expect(throws: SettingError.self) {
            _ = try EventSubscribers(reader, types: ["a"], neighbours: .none)
        }
    }

    @Test func aSubscriberWithoutAnAddressEndsTheStart() throws {
        let settings = EnvironmentVariablesProvider(environmentVariables: ["EVENT_SUBSCRIBERS": "a=elsewhere"])
        let reader = ConfigReader(provider: settings)
        let tokens = try ServiceTokens(secret: TestService.secret, name: "social")
        let neighbours = Neighbours.overHTTP(configuration: reader, tokens: tokens)
        #expect(throws: SettingError.self) { _ = try EventSubscribers(reader, types: ["a"], neighbours: neighbours) }
        #expect(throws: Never.self) { _ = try EventSubscribers(reader, types: ["b"], neighbours: neighbours) }
    }
}
