import AuthAPI
import Credentials
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Sessions of applications") struct ApplicationSessionTests {
    @Test("A session lives as long as its token says, however long it is idle")
    func lifetime() async throws {
        let clock = TestClock()
        try await withCustomer(settings: ["SESSION_IDLE_DAYS": "1"], clock: clock) { acme in
            let brief = try await acme.signIn("ada", device: "phone", lifetime: 60, now: clock.now)
            let endless = try await acme.signIn("ada", device: "fridge", lifetime: 400 * 86_400, now: clock.now)
            clock.advance(seconds: 59)
            let last = try await acme.request(.get, "/auth/sessions", session: brief)
            #expect(last.status == 200, "\(last.text)")
            clock.advance(seconds: 1)
            #expect(try await acme.status(of: brief) == 403)
            // Idle for longer than other sessions may be.
            clock.advance(seconds: 399 * 86_400)
            let listed = try await acme.request(.get, "/auth/sessions", session: endless)
            #expect(listed.status == 200)
            #expect(listed.json["sessions"].array.map { $0["deviceId"].string } == ["fridge"])
        }
    }

    @Test("A sign-in on a device ends that user's earlier session there")
    func sameDevice() async throws {
        try await withCustomer { acme in
            let first = try await acme.signIn("ada", device: "phone")
            let laptop = try await acme.signIn("ada", device: "laptop")
            let bo = try await acme.signIn("bo", device: "phone")
            #expect(try await acme.status(of: first) == 200)

            let second = try await acme.signIn("ada", device: "phone", more: ["platform": "gcm"])

            #expect(try await acme.status(of: first) == 403)
            for session in [laptop, bo] { #expect(try await acme.status(of: session) == 200) }
            let listed = try await acme.request(.get, "/auth/sessions", session: second).json["sessions"].array
            #expect(listed.map { $0["deviceId"].string } == ["phone", "laptop"])
            #expect(listed.map { $0["platform"].string } == ["gcm", nil])
        }
    }

    @Test("Of concurrent sign-ins on one device, one session stays")
    func concurrentLogins() async throws {
        try await withCustomer { acme in
            let sessions = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await acme.signIn("ada", device: "phone") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let living = try await sessions.asyncFilter { try await acme.status(of: $0) == 200 }
            #expect(sessions.count == 10)
            #expect(living.count == 1)
        }
    }

    @Test("A user ends one session, all others, or the current one")
    func logout() async throws {
        try await withCustomer { acme in
            let phone = try await acme.signIn("ada", device: "phone")
            let laptop = try await acme.signIn("ada", device: "laptop")
            let tablet = try await acme.signIn("ada", device: "tablet")
            let bo = try await acme.signIn("bo")
            let listed = try await acme.request(.get, "/auth/sessions", session: phone).json["sessions"].array
            let id = try #require(listed.first { $0["deviceId"].string == "laptop" }?["id"].string)

            #expect(try await acme.request(.delete, "/auth/sessions/\(id)", session: bo).status == 404)
            #expect(try await acme.request(.delete, "/auth/sessions/\(id)", session: phone).status == 200)
            #expect(try await acme.status(of: laptop) == 403)
            #expect(try await acme.request(.delete, "/auth/sessions", session: phone).status == 200)
            #expect(try await acme.status(of: tablet) == 403)
            #expect(try await acme.request(.post, "/auth/logout", session: phone).status == 200)
            #expect(try await acme.status(of: phone) == 403)
            #expect(try await acme.status(of: bo) == 200)
        }
    }

    @Test("Another instance recognises the token of an ended session that it never saw")
    func endedElsewhere() async throws {
        try await withCustomer { acme in
            let token = try await acme.signIn("ada")
            #expect(try await acme.request(.post, "/auth/logout", session: token).status == 200)
            let settings = ["TOKEN_ENCRYPTION_KEY": Auth.key]
            let database = acme.auth.service.database
            try await TestService.with(AuthService.self, over: database, settings: settings) { second in
                let ended = try await second.send(.get, "/auth/sessions", headers: [.diuitSession: token])
                #expect(ended.status == 403)
                #expect(ended.problem?.code == "session_ended")
                let unknown = HTTPFields([HTTPField(name: .diuitSession, value: SessionToken.random())])
                let answer = try await second.send(.get, "/auth/sessions", headers: unknown)
                #expect(answer.problem?.code == "invalid_token")
            }
        }
    }

    @Test("The database has no session token, only its hash")
    func storedAsHash() async throws {
        try await withCustomer { acme in
            let session = try await acme.signIn("ada")
            let rows = try await acme.auth.service.database.pool.all("SELECT sessions::text AS text FROM sessions") {
                try $0.string("text")
            }
            #expect(rows.count == 2)
            #expect(!rows.contains { $0.contains(session) })
        }
    }

    @Test("The same user id in two applications is two users")
    func sameUserID() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let one = try await acme.signIn("ada", device: "phone")
            let two = try await other.signIn("ada", device: "phone")
            for session in [one, two] {
                #expect(try await acme.status(of: session) == 200)
                let listed = try await acme.request(.get, "/auth/sessions", session: session).json["sessions"].array
                #expect(listed.count == 1)
            }
            #expect(try await acme.request(.delete, "/auth/sessions", session: one).status == 200)
            #expect(try await other.asAdmin(.delete, "/applications/\(acme.id)/users/ada").status == 200)
            #expect(try await acme.status(of: one) == 403)
            #expect(try await acme.status(of: two) == 200)
        }
    }

    @Test("A session of an application reaches no account, not even one with the same id")
    func noAccountRoutes() async throws {
        try await withCustomer { acme in
            let root = try await acme.auth.signIn("root")
            let session = try await acme.signIn(root.userId)
            #expect(try await acme.request(.get, "/auth/me", session: session).status == 403)
            let found = try await acme.request(.get, "/auth/users?username=root", session: session)
            #expect(found.status == 200)
            #expect(found.json["users"].array.isEmpty)
            #expect(try await acme.request(.get, "/applications", session: session).status == 403)
            #expect(try await acme.request(.delete, "/auth/sessions", session: session).status == 200)
            #expect(try await acme.auth.me(root.jwt).status == 200)
        }
    }

    @Test("A service looks sessions up by the hash of their token, at most 100 at once")
    func lookupByHash() async throws {
        try await withCustomer { acme in
            let session = try await acme.signIn("ada", device: "phone")
            let source = HTTPCredentialSource(auth: try acme.auth.service.peerClient("gateway", callee: "auth"))
            let hash = Base64URL.encode(SessionToken.hash(session))

            let found = try await source.sessions(of: [hash, session, "", "x", hash])

            #expect(found.count == 1)
            #expect(found.first?.userId == "ada")
            #expect(found.first?.applicationId == acme.id)
            #expect(found.first?.deviceId == "phone")
            #expect(found.first?.tokenHash == hash)
            _ = try await acme.request(.post, "/auth/logout", session: session)
            #expect(try await source.sessions(of: [hash]).isEmpty)
            await #expect(throws: APIError.self) { try await source.sessions(of: Array(repeating: hash, count: 101)) }
        }
    }

    @Test("Only conversations receives the push registration of a session")
    func registration() async throws {
        try await withCustomer { acme in
            let more: [String: JSONValue] = ["platform": "ios_sandbox", "pushToken": "abc123"]
            let session = try await acme.signIn("ada", device: "phone", more: more)
            let hash = Base64URL.encode(SessionToken.hash(session))
            let expected: [(String, String?)] = [("conversations", "abc123"), ("gateway", nil), ("photos", nil)]
            for (service, token) in expected {
                let source = HTTPCredentialSource(auth: try acme.auth.service.peerClient(service, callee: "auth"))
                let found = try #require(try await source.sessions(of: [hash]).first)
                #expect(found.userId == "ada", "\(service)")
                #expect(found.pushToken == token, "\(service)")
                #expect(found.platform == token.map { _ in "ios_sandbox" }, "\(service)")
            }
        }
    }

    @Test("Device registrations, session ends and user deletions are published in order")
    func events() async throws {
        let push = EventRecorder(callee: "push")
        let peers = PeerServices.with(["push": push.client])
        let settings = [
            "TOKEN_ENCRYPTION_KEY": Auth.key,
            "EVENT_SUBSCRIBERS": "device.registered=push, session.ended=push,user.deleted=push,message.sent=push",
        ]
        try await TestService.with(AuthService.self, settings: settings, peers: peers) { service in
            let auth = Auth(service: service)
            let acme = try await auth.customer(by: try await auth.administrator().jwt)
            let more: [String: JSONValue] = ["platform": "ios_sandbox", "pushToken": "<abc 123>"]
            _ = try await acme.signIn("ada", device: "phone", more: more)
            let second = try await acme.signIn("ada", device: "phone", more: more)
            _ = try await acme.signIn("ada", device: "laptop", more: ["platform": "gcm"])
            _ = try await acme.asAdmin(.delete, "/applications/\(acme.id)/users/ada")

            let events = try await push.events(6)

            let types = ["device.registered", "session.ended"]
            #expect(events.map(\.type) == types + types + ["session.ended", "user.deleted"])
            let registered = try [0, 2].map { try events[$0].content(as: DeviceRegistered.self) }
            let ended = try [1, 3, 4].map { try events[$0].content(as: SessionEnded.self) }
            #expect(registered[0].sessionId == ended[0].sessionId)
            #expect(registered[0].pushToken == "<abc 123>")
            #expect(registered[0].platform == "ios_sandbox")
            #expect(registered.allSatisfy { $0.applicationId == acme.id && $0.userId == "ada" })
            #expect(registered.map(\.deviceId) == ["phone", "phone"])
            #expect(Set(ended.map(\.deviceId)) == ["phone", "laptop"])
            #expect(ended.allSatisfy { $0.reason == .ended })
            let deleted = try events[5].content(as: UserDeleted.self)
            #expect(deleted.user == User.ID(application: acme.id, user: "ada"))
            #expect(deleted.deletionJob?.round == 1)
            #expect(try await acme.status(of: second) == 403)
        }
    }

    @Test("A session that expires publishes its end")
    func expiryEvent() async throws {
        let push = EventRecorder(callee: "push")
        let clock = TestClock()
        let settings = ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "session.ended=push"]
        try await TestService.with(
            AuthService.self,
            settings: settings,
            peers: .with(["push": push.client]),
            now: { clock.now }
        ) { service in
            let auth = Auth(service: service)
            let acme = try await auth.customer(by: try await auth.administrator().jwt)
            _ = try await acme.signIn("ada", device: "phone", lifetime: 60, now: clock.now)
            clock.advance(seconds: 61)

            // An instance runs the retention when it starts.
            try await TestService.with(
                AuthService.self,
                over: service.database,
                settings: settings,
                peers: .with(["push": push.client]),
                now: { clock.now }
            ) { _ in
                let ended = try await push.events(1)[0].content(as: SessionEnded.self)
                #expect(ended.userId == "ada")
                #expect(ended.deviceId == "phone")
                #expect(ended.reason == .expired)
            }
        }
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncFilter(_ isWanted: (Element) async throws -> Bool) async throws -> [Element] {
        var kept: [Element] = []
        for element in self where try await isWanted(element) { kept.append(element) }
        return kept
    }
}
