import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@Suite("Linking through a network's consent page") struct AuthorizationTests {
    private static let url = "https://app.example/linked"
    private static let settings = ["SOCIAL_REDIRECT_URLS": "https://other.example, \(url)"]

    @Test("A user who agrees links the account, and the code is valid once")
    func consent() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let authorization = try await fixture.ann.begin(Self.url)
            let back = try await fixture.callback(authorization.state)
            let code = try #require(back.code)

            let linked = try await fixture.ann.complete(code)
            let again = try await fixture.ann.complete(code)

            #expect(authorization.page.hasPrefix("https://twitter.example/consent"))
            #expect(back.answer.status == 302)
            #expect(back.answer.headers[.location]?.hasPrefix(Self.url + "?") == true)
            #expect(linked.status == 200, "\(linked.text)")
            #expect(linked.json["id"].string == "id of granted to 43", "\(linked.text)")
            #expect(again.status == 400)
            #expect(again.problem?.field == "code")
            #expect(try await fixture.rows("SELECT network AS row FROM authorizations").isEmpty)
        }
    }

    @Test("A code is valid only for the user, session and network that started")
    func otherSession() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let authorization = try await fixture.ann.begin(Self.url)
            let code = try #require(try await fixture.callback(authorization.state).code)
            let elsewhere = try await TestUser(fixture.ann.id, at: fixture.service, fixture.keys)

            let statuses = [
                try await fixture.bob.complete(code).status, try await elsewhere.complete(code).status,
                try await fixture.ann.complete(code, on: "reddit").status, try await fixture.ann.complete(code).status,
            ]

            #expect(statuses == [400, 400, 400, 200] as [Int])
        }
    }

    @Test("A state is valid once, and states and codes expire after ten minutes")
    func stateLifetime() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let authorization = try await fixture.ann.begin(Self.url)
            let first = try await fixture.callback(authorization.state)
            let twice = try await fixture.callback(authorization.state)
            let late = try await fixture.ann.begin(Self.url)
            fixture.clock.advance(by: 601)
            let tooLate = try await fixture.callback(late.state)
            let forged = try await fixture.callback("forged")
            let expired = try await fixture.ann.complete(first.code ?? "")

            #expect(first.answer.status == 302)
            for answer in [twice, tooLate, forged] { #expect(answer.answer.status == 400, "\(answer.answer.text)") }
            #expect(expired.status == 400)
        }
    }

    @Test("A user who denies returns to the application with an error")
    func denial() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let authorization = try await fixture.ann.begin(Self.url)

            let denied = try await fixture.service.send(
                .get,
                "/networks/twitter/callback?state=\(authorization.state)&error=access_denied"
            )

            #expect(denied.status == 302)
            #expect(denied.headers[.location] == Self.url + "?error=access_denied&network=twitter")
        }
    }

    @Test("A redirect URL that is not configured is rejected")
    func redirectURL() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            for url in ["https://evil.example", Self.url + "/more", "https://app.example/linke"] {
                let answer = try await fixture.ann.ask(
                    .post,
                    "/networks/twitter/authorize",
                    #"{"redirectUrl": "\#(url)"}"#
                )
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "redirectUrl")
            }
        }
    }

    @Test("Client metadata is public for networks that require it")
    func clientMetadata() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let metadata = try await fixture.service.send(.get, "/networks/twitter/client-metadata.json")
            let nothing = try await fixture.service.send(.get, "/networks/reddit/client-metadata.json")
            let nowhere = try await fixture.service.send(.get, "/networks/nowhere/client-metadata.json")

            #expect(metadata.status == 200)
            #expect(metadata.headers[.contentType] == "application/json")
            #expect(metadata.text.contains("/networks/twitter/callback"))
            #expect(nothing.status == 404)
            #expect(nowhere.status == 404)
        }
    }

    @Test("States, codes and payloads are not readable in the database")
    func encryptedPayload() async throws {
        try await withSocial(settings: Self.settings) { fixture in
            let authorization = try await fixture.ann.begin(Self.url)
            let code = try #require(try await fixture.callback(authorization.state).code)

            let dump = try await fixture.rows(
                "SELECT encode(payload, 'escape') || encode(state_hash, 'hex') || encode(code_hash, 'hex') AS row FROM authorizations"
            )

            #expect(dump.count == 1)
            for secret in [authorization.state, code, "payload for", "granted"] { #expect(!dump[0].contains(secret)) }
        }
    }
}

extension TestUser {
    /// Starts linking on Twitter's page.
    fileprivate func begin(_ url: String) async throws -> (page: String, state: String) {
        let answer = try await ask(.post, "/networks/twitter/authorize", #"{"redirectUrl": "\#(url)"}"#)
        guard let page = answer.json["url"].string,
            let state = URLComponents(string: page)?.queryItems?.first(where: { $0.name == "state" })?.value
        else { throw TestSupportError("\(answer.status): \(answer.text)") }
        return (page, state)
    }

    fileprivate func complete(_ code: String, on network: String = "twitter") async throws -> TestHTTPResponse {
        try await ask(.post, "/networks/\(network)/complete", #"{"code": "\#(code)"}"#)
    }
}

extension SocialFixture {
    /// Sends the callback from Twitter's page, without a credential.
    fileprivate func callback(_ state: String) async throws -> (answer: TestHTTPResponse, code: String?) {
        let answer = try await service.send(.get, "/networks/twitter/callback?state=\(state)&code=granted")
        let items = answer.headers[.location].flatMap { URLComponents(string: $0)?.queryItems }
        return (answer, items?.first { $0.name == "code" }?.value)
    }
}
