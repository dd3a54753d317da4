import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Status of networks") struct NetworkStatusTests {
    @Test("Every missing capability has a code, in every version of an API", arguments: PlayedNetwork.all)
    func codes(played: PlayedNetwork) async throws {
        try await withPlayedNetworks { scene in
            let (connector, ana) = try await scene.link("ana", on: played)
            let abilities = connector.abilities(of: ana)
            let missing = Set(Capability.allCases).subtracting(abilities.able)
            let codes = missing.map { connector.reason(why: $0, of: ana) }
            #expect(!codes.contains(.notAvailableHere))
            #expect(Set(abilities.reasons.keys).subtracting(abilities.able) == missing)
        }
    }

    @Test("Notifications and messages of each version have the documented code")
    func reading() async throws {
        try await withPlayedNetworks { scene in
            let expected: [(Capability, PlayedNetwork, CapabilityReason?)] = [
                (.notifications, .facebook, .webhookOnly), (.notifications, .facebook2015, nil),
                (.notifications, .instagram, .webhookOnly), (.notifications, .instagram2015, nil),
                (.messages, .instagram2015, .notOfferedByVersion), (.messages, .instagram, nil),
                (.messages, .tumblr, .notOfferedByNetwork), (.messages, .vine, .notOfferedByNetwork),
                (.location, .twitter2, .notOfferedByVersion),
            ]
            for (capability, played, code) in expected {
                let (connector, ana) = try await scene.link("ana", on: played)
                let isAble = connector.abilities(of: ana).able.contains(capability)
                let found = isAble ? nil : connector.reason(why: capability, of: ana)
                #expect(found == code, "\(played.testDescription) \(capability.rawValue)")
            }
        }
    }

    @Test("The list of networks has a code beside each reason")
    func list() async throws {
        try await withSocial { scene in
            scene.networks[.tumblr].mood.change {
                $0.able = [.feed]
                $0.reasons = [.messages: "there are none"]
            }
            let answer = try await scene.ann.ask(.get, "/networks")
            let networks = answer.json["networks"].array
            func network(_ name: String) -> JSONValue { networks.first { $0["network"].string == name } ?? .null }
            #expect(network("tumblr")["reasonCodes"]["messages"].string == "not_offered_by_network")
            #expect(network("tumblr")["reasonCodes"]["feed"] == .null)
            #expect(network("vine")["reasonCodes"]["feed"].string == "not_available_here")
        }
    }

    @Test(
        "The account's picture is shown where the network gives it",
        arguments: [
            PlayedNetwork.reddit, .twitter, .twitter2, .facebook, .facebook2015, .instagram, .instagram2015, .mastodon,
            .vine,
        ]
    )
    func picture(played: PlayedNetwork) async throws {
        try await withPlayedNetworks { scene in
            let (connector, ana) = try await scene.link("ana", on: played)
            let identity = try await connector.identify(ana)
            #expect(identity.avatarUrl?.hasPrefix("http") == true)
        }
    }

    @Test("The picture of a linked account is in its status")
    func linkedPicture() async throws {
        try await withSocial { scene in
            let linked = try await scene.ann.ask(.put, "/networks/twitter", #"{"access_token": "ann"}"#)
            let listed = try await scene.ann.ask(.get, "/networks").json["networks"].array
            #expect(linked.json["avatarUrl"].string == "https://twitter.example/picture.jpg")
            #expect(
                listed.first { $0["network"].string == "twitter" }?["avatarUrl"].string
                    == "https://twitter.example/picture.jpg"
            )
        }
    }
}
