import AuthAPI
import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Internal routes") struct InternalRouteTests {
    @Test("Other services look users up by id and learn which ids are unknown")
    func usersByID() async throws {
        try await withAuth { auth in
            let client = AuthClient(try auth.service.peerClient("conversations", callee: "auth"))
            let ada = try await auth.register("ada")
            let guest = try await auth.anonymous().userId
            let unknown = UUID().uuidString.lowercased()

            let users = try await client.users([ada, guest, unknown, "no id", ada])
            #expect(Set(users.map(\.userId)) == [ada, guest])
            #expect(users.first { $0.userId == ada }?.username == "ada")
            #expect(users.first { $0.userId == guest }?.username == nil)
            #expect(
                try await client.unknown(among: [ada, unknown, "no id", ada.uppercased()])
                    == [unknown, "no id", ada.uppercased()]
            )
            #expect(try await client.users([String]()).isEmpty)
        }
    }

    @Test("Users of a customer's application are known while they have a session")
    func customers() async throws {
        try await withCustomer { acme in
            let client = AuthClient(try acme.auth.service.peerClient("photos", callee: "auth"))
            let sessions = [
                try await acme.signIn("ada", device: "phone"), try await acme.signIn("ada", device: "laptop"),
            ]
            let ada = UserSummary(userId: "ada", username: nil, fullName: nil)
            #expect(try await client.users(["ada", "bo"], of: acme.id) == [ada])
            #expect(try await client.users(["ada"], of: "other").isEmpty)
            #expect(try await client.users(["ada"]).isEmpty)
            for session in sessions { _ = try await acme.request(.post, "/auth/logout", session: session) }
            #expect(try await client.users(["ada"], of: acme.id).isEmpty)
        }
    }

    @Test("The client splits a lookup of many ids")
    func manyIDs() async throws {
        try await withAuth { auth in
            let client = AuthClient(try auth.service.peerClient("conversations", callee: "auth"))
            let ada = try await auth.register("ada")
            let ids = (0..<250).map { _ in UUID().uuidString.lowercased() } + [ada]
            #expect(try await client.users(ids).map(\.userId) == [ada])
        }
    }

    @Test("Internal routes need a service token for auth from an allowed service")
    func servicesOnly() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            for path in ["/internal/application-keys", "/internal/revocations"] {
                #expect(try await auth.service.send(.get, path).status == 403)
                #expect(try await auth.service.send(.get, path, token: ada.jwt).status == 403)
                let stranger = try ServiceTokens(secret: String(repeating: "x", count: 32), name: "gateway")
                #expect(try await auth.service.send(.get, path, token: stranger.token(for: "auth")).status == 403)
                let gateway = try ServiceTokens(secret: TestService.secret, name: "gateway")
                #expect(try await auth.service.send(.get, path, token: gateway.token(for: "push")).status == 403)
                #expect(try await auth.service.send(.get, path, token: gateway.token(for: "auth")).status == 200)
            }
        }
    }

    @Test("The feed lists ended sessions for as long as their tokens are valid")
    func revocationFeed() async throws {
        try await withAuth { auth in
            let feed = HTTPCredentialSource(auth: try auth.service.peerClient("gateway", callee: "auth"))
            #expect(try await feed.revocations(after: nil).revocations.isEmpty)

            let ada = try await auth.signUp("ada")
            let session = try await auth.currentSession(ada)
            _ = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
            let page = try await feed.revocations(after: nil)
            #expect(page.revocations.map(\.sessionId) == [session])
            #expect(page.after == page.revocations[0].serial)
            let until = page.revocations[0].until.timeIntervalSinceNow
            #expect(until > 3_600)
            #expect(until <= 3_660)
        }
    }

    @Test("A waiting request returns at once when a session ends at any instance")
    func feedLongPoll() async throws {
        try await withTwoAuths { first, second in
            for ending in [first, second] {
                let feed = HTTPCredentialSource(auth: try first.service.peerClient("gateway", callee: "auth"))
                // A slow machine may delay a response until it would come anyway; one fast response is enough.
                var isAtOnce = false
                for _ in 0..<5 where !isAtOnce {
                    let ada = try await ending.signUp("\(UUID().uuidString.prefix(8))")
                    let session = try await ending.currentSession(ada)
                    let after = try await feed.revocations(after: nil).after

                    let start = ContinuousClock.now
                    async let page = feed.revocations(after: after)
                    _ = try await ending.service.send(.post, "/auth/logout", token: ada.jwt)
                    let isReported = try await page.revocations.contains { $0.sessionId == session }
                    let duration = start.duration(to: .now)
                    #expect(isReported || duration >= .seconds(5), "\(duration)")
                    isAtOnce = isReported && duration < .seconds(4)
                }
                #expect(isAtOnce)
            }
        }
    }

    @Test("A waiting request returns empty after five seconds")
    func feedTimeout() async throws {
        try await withAuth { auth in
            let feed = HTTPCredentialSource(auth: try auth.service.peerClient("gateway", callee: "auth"))
            let start = ContinuousClock.now
            let page = try await feed.revocations(after: 0)
            #expect(page.revocations.isEmpty)
            #expect(page.after == 0)
            let duration = start.duration(to: .now)
            #expect(duration > .seconds(4), "\(duration)")
            #expect(duration < .seconds(60), "\(duration)")
        }
    }

    @Test("Recent revocations are reported again, older ones are not")
    func feedOverlap() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let feed = HTTPCredentialSource(auth: try auth.service.peerClient("gateway", callee: "auth"))
            for name in ["ada", "bo", "cy"] {
                let person = try await auth.signUp(name)
                _ = try await auth.service.send(.post, "/auth/logout", token: person.jwt)
                clock.advance(seconds: 20)
            }
            // The first revocation is too old, the second is reported again, the third is new.
            let page = try await feed.revocations(after: 2)
            #expect(page.revocations.map(\.serial) == [3])
            clock.advance(seconds: -15)
            #expect(try await feed.revocations(after: 2).revocations.map(\.serial) == [2, 3])
        }
    }

    @Test("A revocation that commits late is still reported at once")
    func lateCommit() async throws {
        try await withAuth { auth in
            let pool = auth.service.database.pool
            let feed = HTTPCredentialSource(auth: try auth.service.peerClient("gateway", callee: "auth"))
            // A late revocation is announced for one second after it is found, and after that it waits for the next
            // response, five seconds later. On a slow machine one fast response is enough.
            var isAtOnce = false
            for round in 1...5 where !isAtOnce {
                let ada = try await auth.signUp("ada\(round)")
                let late = UUID()
                let page = try await pool.transaction { db in
                    // Takes its serial now, and becomes visible only when the transaction ends.
                    try await db.run("INSERT INTO revocations (session_id, revoked_at) VALUES (\(late), \(Date()))")
                    _ = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
                    return try await feed.revocations(after: 0)
                }
                let last = Int64(2 * round)
                #expect(page.after == last)
                #expect(page.revocations.last?.serial == last)
                #expect(!page.revocations.contains { $0.serial == last - 1 })

                // Its serial is lower than the last reported one, so the serial alone would never report it.
                let session = late.uuidString.lowercased()
                try await eventually {
                    try await feed.revocations(after: nil).revocations.contains { $0.sessionId == session }
                }
                let start = ContinuousClock.now
                let next = try await feed.revocations(after: page.after)
                #expect(next.revocations.contains { $0.sessionId == session })
                isAtOnce = start.duration(to: .now) < .seconds(4)
            }
            #expect(isAtOnce)
        }
    }

    @Test("A malformed query is a 400 that names its field")
    func malformedQueries() async throws {
        try await withAuth { auth in
            let tokens = try ["gateway", "photos"].map {
                try ServiceTokens(secret: TestService.secret, name: $0).token(for: "auth")
            }
            let ids = (0..<101).map { _ in "userId=\(UUID().uuidString.lowercased())" }.joined(separator: "&")
            for (path, field, token) in [
                ("/internal/revocations?after=x", "after", tokens[0]),
                ("/internal/revocations?after=-1", "after", tokens[0]),
                ("/internal/users?\(ids)", "userId", tokens[1]),
            ] {
                let answer = try await auth.service.send(.get, path, token: token)
                #expect(answer.status == 400)
                #expect(answer.problem?.field == field)
            }
        }
    }
}
