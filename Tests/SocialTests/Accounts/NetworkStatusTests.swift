import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Status of networks") struct NetworkStatusTests {
    @Test("Every missing capability has a code, in every version of an API", arguments: NetworkVariant.all)
    func codes(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let accountCapabilities = connector.accountCapabilities(of: ana)
            let missing = Set(Capability.allCases).subtracting(accountCapabilities.supported)
            let codes = missing.map { connector.reason(why: $0, of: ana) }
            #expect(!codes.contains(.notAvailableHere))
            #expect(Set(accountCapabilities.reasons.keys).subtracting(accountCapabilities.supported) == missing)
        }
    }

    @Test("Notifications and messages of each version have the documented code")
    func reading() async throws {
        try await withSandboxNetworks { fixture in
            let expected: [(Capability, NetworkVariant, CapabilityReason?)] = [
                (.notifications, .facebook, .webhookOnly), (.notifications, .facebook2015, nil),
                (.notifications, .instagram, .webhookOnly), (.notifications, .instagram2015, nil),
                (.messages, .instagram2015, .notOfferedByVersion), (.messages, .instagram, nil),
                (.messages, .tumblr, .notOfferedByNetwork), (.messages, .vine, .notOfferedByNetwork),
                (.location, .twitter2, .notOfferedByVersion),
            ]
            for (capability, variant, code) in expected {
                let (connector, ana) = try await fixture.link("ana", on: variant)
                let isAble = connector.accountCapabilities(of: ana).supported.contains(capability)
                let found = isAble ? nil : connector.reason(why: capability, of: ana)
                #expect(found == code, "\(variant.testDescription) \(capability.rawValue)")
            }
        }
    }

    @Test("The list of networks has a code with each reason")
    func list() async throws {
        try await withSocial { fixture in
            fixture.networks[.tumblr].behavior.change {
                $0.supported = [.feed]
                $0.reasons = [.messages: "there are none"]
            }
            let answer = try await fixture.ann.ask(.get, "/networks")
            let networks = answer.json["networks"].array
            func network(_ name: String) -> JSONValue { networks.first { $0["network"].string == name } ?? .null }
            #expect(network("tumblr")["reasonCodes"]["messages"].string == "not_offered_by_network")
            #expect(network("tumblr")["reasonCodes"]["feed"] == .null)
            #expect(network("vine")["reasonCodes"]["feed"].string == "not_available_here")
        }
    }

    @Test(
        "The account's picture is shown if the network provides it",
        arguments: [
            NetworkVariant.reddit, .twitter, .twitter2, .facebook, .facebook2015, .instagram, .instagram2015, .mastodon,
            .vine,
        ]
    )
    func picture(variant: NetworkVariant) async throws {
        try await withSandboxNetworks { fixture in
            let (connector, ana) = try await fixture.link("ana", on: variant)
            let identity = try await connector.identify(ana)
            #expect(identity.avatarUrl?.hasPrefix("http") == true)
        }
    }

    @Test("The status of a linked account has its picture")
    func linkedPicture() async throws {
        try await withSocial { fixture in
            let linked = try await fixture.ann.ask(.put, "/networks/twitter", #"{"access_token": "ann"}"#)
            let listed = try await fixture.ann.ask(.get, "/networks").json["networks"].array
            #expect(linked.json["avatarUrl"].string == "https://twitter.example/picture.jpg")
            #expect(
                listed.first { $0["network"].string == "twitter" }?["avatarUrl"].string
                    == "https://twitter.example/picture.jpg"
            )
        }
    }
}
