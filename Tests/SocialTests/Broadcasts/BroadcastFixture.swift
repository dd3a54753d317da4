import Foundation
import HTTPTypes
import SandboxServer
import ServiceClient
import ServiceHost
import SocialAPI
import TestSupport
import Wire

@testable import SocialServer

/// Social over the sandbox's Reddit, with a fake push and a clock that the test advances.
struct BroadcastFixture: Sendable {
    let service: TestService
    let sandbox: Sandbox
    let push: FakeFavourites
    let clock: TestClock
    let keys: TestKeys
    let ann: TestUser

    var live: Broadcasts { sandbox.networks.live }

    /// Advances the clock to the next poll and waits for it.
    func nextRound() async throws {
        let polls = live.polls
        clock.advance(by: 5)
        try await eventually { live.polls > polls }
    }

    func broadcasts() async throws -> TestHTTPResponse { try await ann.ask(.get, "/broadcasts") }

    /// Waits until the list of broadcasts satisfies the condition.
    func waitUntilListed(_ condition: @escaping ([JSONValue]) -> Bool) async throws {
        try await eventually { condition(try await broadcasts().json["broadcasts"].array) }
    }

    /// Links an account of the sandbox, and postpones the automatic import of follows by a day unless `isDue`.
    ///
    /// Otherwise the service's own import could run during the test and take what the test expects.
    func link(_ person: TestUser, as name: String, isDue: Bool = false) async throws {
        if !isDue {
            let imports = FollowImportStore(db: service.database.pool)
            try await imports.postpone(person.id, until: clock.read() + 86_400)
        }
        let account = sandbox.networks.account(name, on: .reddit)
        let tokens = [
            "access_token": account?.accessToken ?? "", "refresh_token": account?.refreshToken ?? "",
        ]
        let body = String(decoding: try WireJSON.encoder().encode(tokens), as: UTF8.self)
        let answer = try await person.ask(.put, "/networks/reddit", body)
        guard answer.status == 200 else { throw TestSupportError(answer.text) }
    }

    /// Runs another instance over the same database and networks.
    func another(_ body: (TestService) async throws -> Void) async throws {
        try await TestService.with(
            SocialService.self,
            over: service.database,
            settings: Self.settings(sandbox),
            peers: Self.peers(keys, push),
            now: clock.read,
            body
        )
    }

    fileprivate static func settings(_ sandbox: Sandbox) -> [String: String] {
        SocialFixture.settings.merging([
            "RPAN_URL": "\(sandbox.url)/rpan", "REDDIT_URL": "\(sandbox.url)/reddit",
            "REDDIT_CLIENT_ID": "roost-reddit", "REDDIT_CLIENT_SECRET": "roost-reddit-secret",
            "EVENT_SUBSCRIBERS": "broadcast.live=push",
        ]) { $1 }
    }

    fileprivate static func peers(_ keys: TestKeys, _ push: FakeFavourites) -> PeerServices {
        .with([
            "auth": ServiceClient(callee: "auth", transport: AuthTransport(keys), retry: .never),
            "push": ServiceClient(callee: "push", transport: push, retry: .never),
        ])
    }
}

private let sandboxKeys = Result { try SandboxKeys() }

/// Runs a test with the sandbox and the service; `prepare` changes the sandbox before the service starts.
func withBroadcasts(
    _ prepare: (Sandbox) throws -> Void = { _ in },
    _ body: (BroadcastFixture) async throws -> Void
) async throws {
    let (clock, keys, push) = (TestClock(), TestKeys(), FakeFavourites())
    var configuration = SandboxConfiguration()
    configuration.now = clock.read
    configuration.threads = 1
    configuration.posts = 20
    configuration.keys = try sandboxKeys.get()
    try await Sandbox.run(configuration) { sandbox in
        try prepare(sandbox)
        try await TestService.with(
            SocialService.self,
            settings: BroadcastFixture.settings(sandbox),
            peers: BroadcastFixture.peers(keys, push),
            now: clock.read
        ) { service in
            let ann = try await TestUser(
                User.ID(application: SocialFixture.application, user: "ann"),
                at: service,
                keys
            )
            let fixture = BroadcastFixture(
                service: service,
                sandbox: sandbox,
                push: push,
                clock: clock,
                keys: keys,
                ann: ann
            )
            try await eventually { fixture.live.polls > 0 }
            try await body(fixture)
        }
    }
}
