import Foundation
import HTTPTypes
import SandboxServer
import ServiceClient
import ServiceHost
import SocialAPI
import TestSupport
import Wire

@testable import SocialServer

/// Social over the sandbox's Reddit, with a push that notes what it is told, and a clock of the test's own.
struct BroadcastFixture: Sendable {
    let service: TestService
    let sandbox: Sandbox
    let push: FakeFavourites
    let clock: TestClock
    let keys: TestKeys
    let ann: TestUser

    var live: Broadcasts { sandbox.networks.live }

    /// Lets a round's time come, and waits until it has been asked.
    func nextRound() async throws {
        let polls = live.polls
        clock.advance(by: 5)
        try await eventually { live.polls > polls }
    }

    func broadcasts() async throws -> TestHTTPResponse { try await ann.ask(.get, "/broadcasts") }

    /// Waits until the list is as it is to be.
    func waitUntilListed(_ condition: @escaping ([JSONValue]) -> Bool) async throws {
        try await eventually { condition(try await broadcasts().json["broadcasts"].array) }
    }

    /// Links the account that somebody has at the sandbox; whom he follows is looked at by itself tomorrow, unless told
    /// otherwise.
    ///
    /// The first look of the service's own may come as late as this, and would else take what a test waits for.
    func link(_ person: TestUser, as name: String, isDue: Bool = false) async throws {
        if !isDue {
            let turns = FollowImportStore(db: service.database.pool)
            try await turns.postpone(person.id, until: clock.read() + 86_400)
        }
        let account = sandbox.networks.account(name, on: .reddit)
        let tokens = [
            "access_token": account?.accessToken ?? "", "refresh_token": account?.refreshToken ?? "",
        ]
        let body = String(decoding: try WireJSON.encoder().encode(tokens), as: UTF8.self)
        let answer = try await person.ask(.put, "/networks/reddit", body)
        guard answer.status == 200 else { throw TestSupportError(answer.text) }
    }

    /// Another instance, over the same database and networks.
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
        Fixture.settings.merging([
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

/// Runs the scene; `prepare` says what there is before the service starts.
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
            let ann = try await TestUser(User.ID(application: Fixture.application, user: "ann"), at: service, keys)
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
