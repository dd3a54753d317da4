import Foundation
import SocialAPI
import Testing

@testable import SocialServer

@Suite("Webhook subscriptions") struct WebhookSubscriptionTests {
    private let network = RecordedNetwork()

    @Test("A page of Facebook is subscribed with its own token")
    func facebook() async throws {
        let facebook = FacebookConnector(ConnectorParts(network, "https://f"), pause: noPause)
        let page = NetworkAccount.ann(id: "546", NetworkTokens(access: "pages-own"))
        network.answer("POST https://f/v24.0/546/subscribed_apps", 200, #"{"success":true}"#)
        network.answer("DELETE https://f/v24.0/546/subscribed_apps", 200, #"{"success":true}"#)

        try await facebook.subscribe(page)
        try await facebook.unsubscribe(page)

        let asked = network.asked
        #expect(asked[0].form("subscribed_fields") == "feed,mention,messages,message_echoes")
        #expect(asked.map { $0.header("authorization") } == ["Bearer pages-own", "Bearer pages-own"])
        let proofs = asked.map { $0.query("appsecret_proof") }
        #expect(proofs == Array(repeating: Signatures.sha256(Data("pages-own".utf8), key: "app-secret"), count: 2))
    }

    @Test("An account of Instagram is subscribed with its own token")
    func instagram() async throws {
        let instagram = InstagramConnector(ConnectorParts(network, "https://i"), pause: noPause)
        network.answer("POST https://i/v24.0/me/subscribed_apps", 200, #"{"success":true}"#)

        try await instagram.subscribe(.ann(id: "178"))

        #expect(network.last?.form("subscribed_fields") == "comments,messages")
        #expect(network.last?.header("authorization") == "Bearer token")
    }

    @Test("Applications that use the 2015 APIs of Facebook and Instagram need no webhook subscription for each account")
    func v1APIs() async throws {
        var parts = ConnectorParts(network, "https://old")
        parts.key.others = ["API": "personal"]
        try await FacebookConnector(parts, pause: noPause).subscribe(.ann())
        parts.key.others = ["API": "v1"]
        try await InstagramConnector(parts, pause: noPause).subscribe(.ann())

        #expect(network.asked.isEmpty)
    }

    @Test("An account of Twitter is subscribed to the valid webhook of the application")
    func twitter() async throws {
        let twitter = TwitterTests.connector(network)
        let subscriptions = "https://t/2/account_activity/webhooks/12/subscriptions/all"
        for _ in 0..<2 {
            network.answer("POST https://t/oauth2/token", 200, #"{"token_type":"bearer","access_token":"app"}"#)
            network.answer("GET https://t/2/webhooks", 200, Self.webhooks)
        }
        network.answer("POST \(subscriptions)", 200, #"{"data":{"subscribed":true}}"#)
        network.answer("DELETE \(subscriptions)", 200, #"{"data":{"subscribed":false}}"#)
        let person = NetworkAccount.ann(id: "30", NetworkTokens(access: "own"))

        try await twitter.subscribe(person)
        try await twitter.unsubscribe(person)

        let asked = network.asked
        #expect(asked[0].form("grant_type") == "client_credentials")
        #expect(asked[0].header("authorization") == "Basic \(Data("ck:cs".utf8).base64EncodedString())")
        #expect(asked[1].header("authorization") == "Bearer app")
        #expect(asked[2].header("authorization") == "Bearer own")
    }

    private static let webhooks = """
        {"data":[{"id":"10","url":"https://roost.example/webhooks/twitter","valid":false},
        {"id":"11","url":"https://elsewhere.example/hook","valid":true},
        {"id":"12","url":"https://roost.example/webhooks/twitter","valid":true}],"meta":{"result_count":3}}
        """

    @Test("Without a registered webhook, a Twitter account is not subscribed")
    func withoutWebhook() async throws {
        let twitter = TwitterTests.connector(network)
        network.answer("POST https://t/oauth2/token", 200, #"{"token_type":"bearer","access_token":"app"}"#)
        network.answer("GET https://t/2/webhooks", 200, #"{"meta":{"result_count":0}}"#)

        try await twitter.subscribe(.ann())

        #expect(network.asked.count == 2)
    }
}
