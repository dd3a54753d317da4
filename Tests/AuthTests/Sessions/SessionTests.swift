import AuthAPI
import Credentials
import Foundation
import HTTPTypes
import Logging
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Sessions") struct SessionTests {
    @Test("A user's sessions are listed, newest first, with device and program")
    func list() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            _ = try await auth.register("ada")
            _ = try await auth.login("ada", device: "phone", userAgent: "Roost/1 (iOS)")
            clock.advance(seconds: 60)
            let laptop = try await auth.login("ada", device: "laptop", userAgent: "Firefox").decode(SignIn.self)
            clock.advance(seconds: 60)
            let stranger = try await auth.signUp("bo")

            let answer = try await auth.service.send(.get, "/auth/sessions", token: laptop.jwt)
            #expect(answer.status == 200)
            let sessions = answer.json["sessions"].array
            #expect(sessions.map { $0["deviceId"].string } == ["laptop", "phone"])
            #expect(sessions.map { $0["userAgent"].string } == ["Firefox", "Roost/1 (iOS)"])
            #expect(sessions.map { $0["current"].bool } == [true, false])
            #expect(answer.json["next"] == .null)

            let theirs = try await auth.service.send(.get, "/auth/sessions", token: stranger.jwt)
            #expect(theirs.json["sessions"].array.count == 1)
        }
    }

    @Test("The error code says whether to refresh or to sign in again")
    func codes() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            #expect(try await auth.me("x").problem?.code == "invalid_token")
            clock.advance(seconds: 3_601)
            #expect(try await auth.me(ada.jwt).problem?.code == "token_expired")

            let next = try await auth.refresh(ada.refreshToken).decode(SignIn.self)
            #expect(try await auth.me(next.jwt).status == 200)
            #expect(try await auth.service.send(.post, "/auth/logout", token: next.jwt).status == 200)

            #expect(try await auth.me(next.jwt).problem?.code == "session_ended")
            #expect(try await auth.me(ada.jwt).problem?.code == "session_ended")
        }
    }

    @Test("A token refresh updates the session's last-seen time")
    func lastSeen() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            clock.advance(seconds: 600)
            let next = try await auth.refresh(ada.refreshToken).decode(SignIn.self)
            let page = try await auth.service.send(.get, "/auth/sessions", token: next.jwt)
                .decode(Page<Session>.self)
            let session = try #require(page.items.first)
            #expect(session.lastSeenAt.timeIntervalSince(session.createdAt) == 600)
        }
    }

    @Test("Sessions are listed page by page, each once")
    func pages() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            for number in 0..<6 {
                // Two sessions each have the same time.
                if number % 2 == 0 { clock.advance(seconds: 1) }
                _ = try await auth.signIn("ada")
            }
            var seen: [String] = []
            var path = "/auth/sessions?limit=3"
            while true {
                let page = try await auth.service.send(.get, path, token: ada.jwt).decode(Page<Session>.self)
                seen += page.items.map(\.id)
                guard let next = page.next else { break }
                path = "/auth/sessions?limit=3&cursor=\(next)"
            }
            #expect(seen.count == 7)
            #expect(Set(seen).count == 7)
        }
    }

    @Test("A cursor of another user is refused")
    func foreignCursor() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            _ = try await auth.signIn("ada")
            let bo = try await auth.signUp("bo")
            let page = try await auth.service.send(.get, "/auth/sessions?limit=1", token: ada.jwt)
            let cursor = try #require(page.json["next"].string)

            for cursor in [cursor, "forged", ""] {
                let answer = try await auth.service.send(.get, "/auth/sessions?cursor=\(cursor)", token: bo.jwt)
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "cursor")
            }
        }
    }

    @Test("Logout ends the current session only")
    func logout() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let other = try await auth.signIn("ada")

            let answer = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
            #expect(answer.status == 200)
            #expect(answer.json["success"].bool == true)
            #expect(try await auth.me(ada.jwt).status == 403)
            #expect(try await auth.refresh(ada.refreshToken).status == 401)
            #expect(try await auth.service.send(.post, "/auth/logout", token: ada.jwt).status == 403)
            #expect(try await auth.me(other.jwt).status == 200)
        }
    }

    @Test("A user ends another session")
    func endOne() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let other = try await auth.signIn("ada")
            let id = try await auth.currentSession(other)

            #expect(try await auth.service.send(.delete, "/auth/sessions/\(id)", token: ada.jwt).status == 200)
            #expect(try await auth.me(other.jwt).status == 403)
            #expect(try await auth.refresh(other.refreshToken).status == 401)
            #expect(try await auth.me(ada.jwt).status == 200)
            #expect(try await auth.service.send(.delete, "/auth/sessions/\(id)", token: ada.jwt).status == 404)
        }
    }

    @Test("A user cannot end another user's session")
    func foreignSession() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let bo = try await auth.signUp("bo")
            let id = try await auth.currentSession(ada)

            for id in [id, UUID().uuidString.lowercased(), "no-id", "%2e%2e", "1"] {
                let answer = try await auth.service.send(.delete, "/auth/sessions/\(id)", token: bo.jwt)
                #expect(answer.status == 404)
            }
            #expect(try await auth.me(ada.jwt).status == 200)
        }
    }

    @Test("A user ends all other sessions")
    func endOthers() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let others = [try await auth.signIn("ada"), try await auth.signIn("ada")]
            let bo = try await auth.signUp("bo")

            #expect(try await auth.service.send(.delete, "/auth/sessions", token: ada.jwt).status == 200)
            for other in others {
                #expect(try await auth.me(other.jwt).status == 403)
                #expect(try await auth.refresh(other.refreshToken).status == 401)
            }
            #expect(try await auth.me(ada.jwt).status == 200)
            #expect(try await auth.me(bo.jwt).status == 200)
        }
    }

    @Test("Another instance soon rejects the token of an ended session")
    func otherInstance() async throws {
        try await withTwoAuths { first, second in
            let ada = try await first.signUp("ada")
            #expect(try await second.me(ada.jwt).status == 200)

            #expect(try await first.service.send(.post, "/auth/logout", token: ada.jwt).status == 200)
            // This takes about a second; without the event the token would be valid for an hour.
            try await eventually(within: .seconds(30), "refused") {
                let status = try await second.me(ada.jwt).status
                #expect(status == 200 || status == 403)
                return status == 403
            }
        }
    }

    @Test("Expired rows are deleted; each kind has its own retention time")
    func expiredRows() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            _ = try await auth.signIn("ada")
            _ = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
            _ = try await auth.login("ada", password: "a wrong password")

            let pool = auth.service.database.pool
            let retention = auth.retention(by: clock)
            func counts() async throws -> [Int] {
                try await pool.one(
                    """
                    SELECT (SELECT count(*) FROM revocations) AS revocations,
                        (SELECT count(*) FROM login_failures) AS failures,
                        (SELECT count(*) FROM sessions) AS sessions,
                        (SELECT count(*) FROM refresh_tokens) AS tokens,
                        (SELECT count(*) FROM known_devices) AS devices
                    """
                ) { row in
                    try ["revocations", "failures", "sessions", "tokens", "devices"].map { try row.int($0) }
                }
            }
            try await retention.deleteExpired()
            let atFirst = try await counts()
            #expect(atFirst == [1, 2, 1, 1, 3])
            clock.advance(seconds: 3_661)
            try await retention.deleteExpired()
            let afterAnHour = try await counts()
            #expect(afterAnHour == [0, 0, 1, 1, 3])
            clock.advance(seconds: 30 * 86_400)
            try await retention.deleteExpired()
            let afterAMonth = try await counts()
            #expect(afterAMonth == [0, 0, 0, 0, 3])
            clock.advance(seconds: 151 * 86_400)
            try await retention.deleteExpired()
            #expect(try await counts() == [0, 0, 0, 0, 0])
        }
    }
}

extension Auth {
    /// The id of the session that a user's token belongs to.
    func currentSession(_ person: Person) async throws -> String {
        let page = try await service.send(.get, "/auth/sessions", token: person.jwt).decode(Page<Session>.self)
        return try #require(page.items.first { $0.current }).id
    }
}
