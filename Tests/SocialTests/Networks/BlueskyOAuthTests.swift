import Foundation
import HTTPTypes
import NIOCore
import OAuth1
import SandboxServer
import ServiceHost
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Linking with the OAuth of the AT Protocol, with a server that checks every proof.
@Suite("Linking with Bluesky", .timeLimit(.minutes(2))) struct BlueskyOAuthTests {
    private static let request = AuthorizationRequest(
        callback: "http://127.0.0.1:8080/networks/bluesky/callback",
        state: "the-state",
        verifier: String(repeating: "v", count: 43),
        id: "ana.sandbox.test"
    )

    /// Agrees on the consent page as a user, and returns the fields of the callback.
    private func agree(_ page: String, as name: String, _ fixture: SandboxFixture) async throws -> [String: String] {
        let origin = try #require(HTTPOrigin(fixture.sandbox.url))
        let browser = OutsideHTTP(reach: .listed([origin]), connections: fixture.connections)
        let answer = try await browser.send(NetworkRequest(.get, "\(page)&as=\(name)"))
        let place = try #require(answer.headers[.location], "\(answer.status) \(String(buffer: answer.body))")
        #expect(place.hasPrefix(Self.request.callback + "?"))
        let fields = FormField.parse(String(place.drop { $0 != "?" }.dropFirst()))
        return Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    }

    private func link(
        _ name: String,
        _ fixture: SandboxFixture
    ) async throws -> (BlueskyConnector, SocialServer.NetworkAccount) {
        let bluesky = try #require(try await fixture.link(name, on: .bluesky).0 as? BlueskyConnector)
        var request = Self.request
        request.id = "\(name).sandbox.test"
        let authorization = try await bluesky.authorize(request)
        let query = try await agree(authorization.url, as: name, fixture)
        let granted = try await bluesky.complete(query, of: authorization, for: request)
        var account = SocialServer.NetworkAccount(
            owner: User.ID(application: "roost", user: name),
            id: granted.id,
            username: granted.username,
            tokens: granted.tokens,
            details: granted.details
        )
        account.apply(try await bluesky.identify(account))
        return (bluesky, account)
    }

    @Test("An account that is linked by its handle can read and publish")
    func handle() async throws {
        try await withSandboxNetworks { fixture in
            let (bluesky, ana) = try await link("ana", fixture)

            #expect(ana.id?.hasPrefix("did:plc:") == true)
            #expect(ana.username == "ana.sandbox.test")
            #expect(bluesky.accountCapabilities(of: ana).supported.isSuperset(of: [.feed, .messages, .text, .reply]))
            #expect(try await bluesky.feed(PageRequest(limit: 5), as: ana).items.isEmpty == false)
            #expect(try await bluesky.threads(PageRequest(), as: ana).items.isEmpty == false)
            var post = NetworkPost.saying("Signed by an own key", photos: [try await fixture.picture()])
            post.createdAt = Date()
            let prepared = try await bluesky.prepare(post, as: ana)
            let posted = try await bluesky.publish(post, prepared: prepared, as: ana)
            #expect(try await bluesky.find(post, prepared: prepared, as: ana)?.id == posted.id)
        }
    }

    @Test("Tokens cannot be used without their key")
    func boundTokens() async throws {
        try await withSandboxNetworks { fixture in
            let (bluesky, ana) = try await link("ana", fixture)
            var otherKey = ana
            otherKey.tokens.others = ["dpop": DPoPKey().text]
            var bearer = ana
            bearer.tokens.others = nil

            #expect(await failure { try await bluesky.feed(PageRequest(), as: otherKey) }?.kind == .auth)
            #expect(await failure { try await bluesky.feed(PageRequest(), as: bearer) }?.kind == .auth)
            #expect(await failure { try await bluesky.renew(otherKey) }?.kind == .auth)
            #expect(try await bluesky.feed(PageRequest(), as: ana).items.isEmpty == false)
        }
    }

    @Test("Renewed and revoked tokens can no longer be used")
    func renewal() async throws {
        try await withSandboxNetworks { fixture in
            let (bluesky, ana) = try await link("ana", fixture)
            let fresh = try await bluesky.renew(ana)
            var renewed = ana
            renewed.tokens = ana.tokens.renewed(by: fresh)

            #expect(fresh.access != ana.tokens.access)
            #expect(fresh.refresh != ana.tokens.refresh)
            #expect(renewed.tokens.others == ana.tokens.others)
            #expect(try await bluesky.feed(PageRequest(), as: renewed).items.isEmpty == false)
            #expect(await failure { try await bluesky.renew(ana) }?.kind == .auth)

            try await bluesky.revoke(renewed)

            #expect(await failure { try await bluesky.feed(PageRequest(), as: renewed) }?.kind == .auth)
            #expect(await failure { try await bluesky.renew(renewed) }?.kind == .auth)
        }
    }

    @Test("A callback with another issuer, user or code is rejected")
    func callbackChecks() async throws {
        try await withSandboxNetworks { fixture in
            let bluesky = try #require(try await fixture.link("ana", on: .bluesky).0 as? BlueskyConnector)
            func outcome(as name: String, _ change: (inout [String: String]) -> Void) async throws -> NetworkError? {
                let authorization = try await bluesky.authorize(Self.request)
                var query = try await agree(authorization.url, as: name, fixture)
                change(&query)
                let changed = query
                return await failure { try await bluesky.complete(changed, of: authorization, for: Self.request) }
            }

            #expect(try await outcome(as: "ana") { _ in } == nil)
            #expect(try await outcome(as: "ana") { $0["iss"] = "https://evil.example" }?.code == "iss")
            #expect(try await outcome(as: "ana") { $0["iss"] = nil }?.code == "iss")
            #expect(try await outcome(as: "bo") { _ in }?.code == "sub")
            #expect(try await outcome(as: "-") { _ in }?.kind == .permission)
            #expect(try await outcome(as: "ana") { $0["code"] = "forged" }?.kind == .auth)
        }
    }

    @Test("A handle that is unknown or malformed is rejected")
    func unknownHandle() async throws {
        try await withSandboxNetworks { fixture in
            let bluesky = try #require(try await fixture.link("ana", on: .bluesky).0 as? BlueskyConnector)
            func errorKind(_ id: String) async -> NetworkError.Class? {
                var request = Self.request
                request.id = id
                let changed = request
                return await failure { try await bluesky.authorize(changed) }?.kind
            }

            #expect(await errorKind("unknown.sandbox.test") == .notFound)
            #expect(await errorKind("no handle") == .invalid)
            #expect(await errorKind("did:key:z6Mk") == .invalid)
            #expect(await errorKind("@Ana.Sandbox.test") == nil)
        }
    }
}
