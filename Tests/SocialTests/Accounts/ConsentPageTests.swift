import Foundation
import HTTPTypes
import OAuth1
import SandboxServer
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// Bluesky needs the user's handle first and has its own tests: `BlueskyOAuthTests`.
@Suite("Linking on consent pages", .timeLimit(.minutes(2))) struct ConsentPageTests {
    private static let twitter1 = NetworkVariant(service: .twitter, api: "1.1")
    private static let tumblr1 = NetworkVariant(service: .tumblr, api: "1")
    private static let variants: [NetworkVariant] = [
        .mastodon, .reddit, .twitter, twitter1, .tumblr, tumblr1, .facebook, .facebook2015, .instagram, .instagram2015,
    ]

    @Test("A user who agrees on the consent page links the account and reads the feed", arguments: variants)
    func consent(variant: NetworkVariant) async throws {
        try await withSandboxService(variant) { fixture in
            let page = try await fixture.beginAuthorization()
            let back = try await fixture.service.send(.get, fixture.callback(from: page, as: "ana"))
            #expect(back.status == 302, "\(back.text)")
            let code = try #require(back.headers[.location].flatMap { fields($0)["code"] }, "\(back.headers)")
            let linked = try await fixture.ann.ask(
                .post,
                "/networks/\(fixture.network.rawValue)/complete",
                #"{"code": "\#(code)"}"#
            )

            let feed = try await fixture.ann.read("/feed")

            #expect(linked.status == 200, "\(linked.text)")
            #expect(feed.meta.networks[fixture.network] == .ok)
            #expect(try await fixture.rows("SELECT state AS row FROM accounts") == ["linked"])
        }
    }

    @Test("An OAuth 1.0a callback with an unknown state is rejected", arguments: [twitter1, tumblr1])
    func forgedState(variant: NetworkVariant) async throws {
        try await withSandboxService(variant) { fixture in
            let page = try await fixture.beginAuthorization()
            let callback = try await fixture.callback(from: page, as: "ana")
            let state = try #require(fields(callback)["state"])

            let forged = try await fixture.service.send(.get, callback.replacing(state, with: "forged"))

            #expect(forged.status == 400)
            #expect(forged.problem?.code == "unknown_state")
        }
    }

    @Test("A user who denies access to Twitter's API 1.1 returns with an error")
    func denial() async throws {
        try await withSandboxService(Self.twitter1) { fixture in
            let page = try await fixture.beginAuthorization()

            let denied = try await fixture.service.send(.get, fixture.callback(from: page, as: "-"))

            #expect(denied.status == 302)
            #expect(denied.headers[.location].flatMap { fields($0)["error"] } == "access_denied")
        }
    }
}

/// The fields of a URL's query.
private func fields(_ url: String) -> [FormField] { FormField.parse(url.drop { $0 != "?" }.dropFirst()) }

extension SandboxServiceFixture {
    /// Starts an authorization and returns the URL of the consent page.
    fileprivate func beginAuthorization() async throws -> String {
        var draft = ["redirectUrl": Self.redirectURL]
        if network == .mastodon { draft["instance"] = sandbox.url }
        let body = String(decoding: try WireJSON.encoder().encode(draft), as: UTF8.self)
        let answer = try await ann.ask(.post, "/networks/\(network.rawValue)/authorize", body)
        return try #require(answer.json["url"].string, "\(answer.status): \(answer.text)")
    }

    /// Agrees on the consent page as a user of the sandbox, or denies with "-", and returns the callback.
    fileprivate func callback(from page: String, as name: String) async throws -> String {
        let answer = try await send(NetworkRequest(.get, page.adding(["as": name])))
        let location = try #require(answer.headers[.location], "\(answer.status)")
        let url = try #require(URLComponents(string: location))
        #expect(url.path == "/networks/\(network.rawValue)/callback")
        return url.percentEncodedPath + "?" + (url.percentEncodedQuery ?? "")
    }
}
