import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// Scripted faults, in the format of each network.
@Suite("Scripted network faults", .timeLimit(.minutes(1))) struct NetworkFaultTests {
    /// The paths of the home timelines.
    private static let homes = [
        SandboxService.mastodon: "mastodon/api/v1/timelines/home",
        .bluesky: "bluesky/xrpc/app.bsky.feed.getTimeline",
        .reddit: "reddit/best",
    ]

    private static func home(
        _ service: SandboxService,
        _ fixture: SandboxFixture,
        of name: String = "ana",
        query: String = ""
    ) async throws -> SandboxResponse {
        let account = try #require(fixture.sandbox.networks.account(name, on: service))
        return try await fixture.send(
            .GET,
            "\(fixture.sandbox.url)/\(homes[service] ?? "")\(query)",
            headers: ["authorization": "Bearer \(account.accessToken)", "user-agent": "linux:roost:1 (by /u/ana)"]
        )
    }

    @Test("A scripted rate limit has the headers and body of its network")
    func rateLimitHeaders() async throws {
        try await withSandbox { fixture in
            for service in Self.homes.keys {
                try fixture.sandbox.script.add(ScriptRule(service: service, status: 429, retryAfter: 90, times: 1))
            }
            let reset = Int(fixture.clock.now.timeIntervalSince1970) + 90

            let mastodon = try await Self.home(.mastodon, fixture)
            let bluesky = try await Self.home(.bluesky, fixture)
            let reddit = try await Self.home(.reddit, fixture)

            let statuses = [mastodon.status, bluesky.status, reddit.status]
            #expect(statuses == [429, 429, 429])
            let time = try #require(Timestamp.date(from: mastodon.headers["x-ratelimit-reset"].first ?? ""))
            #expect(abs(Int(time.timeIntervalSince1970) - reset) <= 1)
            #expect(try mastodon.json()["error"]?.text == "Too many requests")
            #expect(bluesky.headers["ratelimit-reset"] == [String(reset)])
            #expect(try bluesky.json()["error"]?.text == "RateLimitExceeded")
            #expect(reddit.headers["x-ratelimit-reset"] == ["90"])
            #expect(reddit.text.hasPrefix("<!doctype html>"))
            let again = try await Self.home(.mastodon, fixture)
            #expect(again.status == 200)
        }
    }

    @Test("A rate limit counts per account, and ends with its window")
    func rateLimitWindow() async throws {
        try await withSandbox { fixture in
            fixture.sandbox.networks.multiplyLimits(of: .mastodon, by: 0.01)

            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await Self.home(.mastodon, fixture).status) }
            let another = try await Self.home(.mastodon, fixture, of: "bo")
            fixture.clock.advance(minutes: 5.1)
            let later = try await Self.home(.mastodon, fixture)

            #expect(statuses == [200, 200, 200, 429])
            #expect((another.status, later.status) == (200, 200))
            #expect(later.headers["x-ratelimit-remaining"] == ["2"])
        }
    }

    @Test(
        "A scripted fault replaces, damages, cuts off or enlarges the response",
        arguments: [SandboxService.mastodon, .bluesky, .reddit]
    )
    func scriptedFaults(service: SandboxService) async throws {
        try await withSandbox { fixture in
            let behaviours: [ScriptRule.Behaviour] = [.html, .malformed, .cut, .large]
            for behaviour in behaviours {
                try fixture.sandbox.script.add(ScriptRule(service: service, behaviour: behaviour, times: 1))
            }

            let html = try await Self.home(service, fixture)
            let malformed = try await Self.home(service, fixture)
            await #expect(throws: (any Error).self) { try await Self.home(service, fixture) }
            await #expect(throws: NIOTooManyBytesError.self) { try await Self.home(service, fixture) }
            let whole = try await Self.home(service, fixture)

            #expect((html.status, html.text.contains("nginx")) == (502, true))
            #expect(malformed.status == 200)
            #expect(throws: (any Error).self) { try malformed.json() }
            #expect(try whole.json() != .null)
        }
    }

    @Test("An empty page has a cursor that leads to the rest of the feed")
    func emptyPage() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .mastodon, behaviour: .empty, times: 1))
            try fixture.sandbox.script.add(ScriptRule(service: .bluesky, behaviour: .empty, times: 1))

            let empty = try await Self.home(.mastodon, fixture)
            let next = try #require(empty.headers["link"].first?.firstMatch(of: /<([^>]+)>; rel="next"/))
            let after = try await Self.home(.mastodon, fixture, query: "?\(next.1.split(separator: "?").last ?? "")")
            let first = try await Self.home(.mastodon, fixture)
            let cursor = try #require(try await Self.home(.bluesky, fixture).json()["cursor"]?.text)
            let rest = try await Self.home(.bluesky, fixture, query: "?cursor=\(cursor)").json()["feed"]
            let feed = try await Self.home(.bluesky, fixture).json()["feed"]

            #expect(empty.text == "[]")
            #expect(try after.json() == first.json())
            #expect(rest == feed)
        }
    }

    @Test("A scripted expiry ends the token of one user, who can renew it")
    func tokenExpires() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .reddit, token: "ana", behaviour: .expire, times: 1))

            let expired = try await Self.home(.reddit, fixture)
            let still = try await Self.home(.reddit, fixture)
            let another = try await Self.home(.reddit, fixture, of: "bo")
            let renewed = try await fixture.send(
                .POST,
                "\(fixture.sandbox.url)/reddit/api/v1/access_token",
                headers: [
                    "authorization": "Basic \(Data("roost-reddit:roost-reddit-secret".utf8).base64EncodedString())",
                    "content-type": "application/x-www-form-urlencoded", "user-agent": "linux:roost:1 (by /u/ana)",
                ],
                body: Data("grant_type=refresh_token&refresh_token=sandbox-reddit-ana-refresh".utf8)
            )

            let statuses = [expired.status, still.status, another.status]
            #expect(statuses == [401, 401, 200])
            #expect(renewed.status == 200)
            #expect(try renewed.json()["access_token"]?.text != nil)
        }
    }

    @Test("A rule with a path applies to that path only")
    func rulePath() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .mastodon, path: "notifications", status: 503))

            let home = try await Self.home(.mastodon, fixture)
            let token = try #require(fixture.sandbox.networks.account("ana", on: .mastodon)).accessToken
            let notices = try await fixture.send(
                .GET,
                "\(fixture.sandbox.url)/mastodon/api/v1/notifications",
                headers: ["authorization": "Bearer \(token)"]
            )

            #expect((home.status, notices.status) == (200, 503))
        }
    }
}
