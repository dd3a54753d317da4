import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The security events of an account, and the event of a sign-in on a new device.
@Suite("Security events") struct AuditTests {
    @Test("Sign-ins and failed logins are recorded with address, client and device")
    func signInsAndFailures() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            let bo = try await auth.signUp("bo")
            _ = try await auth.login("ada", password: "wrong, of course", address: "192.0.2.7", userAgent: "Guess/1")
            _ = try await auth.login("nobody", password: "wrong, of course")

            let events = try await auth.events(ada.jwt)

            #expect(events.map(\.kind) == ["login.failed", "login.succeeded"])
            #expect(events[0].address == "192.0.2.7")
            #expect(events[0].userAgent == "Guess/1")
            #expect(events[1].deviceId == "phone")
            #expect(events[1].sessionId != nil)
            #expect(try await auth.events(bo.jwt).map(\.kind) == ["login.succeeded"])
        }
    }

    /// A failed login runs the same statements in both cases, so that timing does not reveal which names exist.
    @Test("A failed login of an unknown account records nothing")
    func unknownAccount() async throws {
        try await withAuth { auth in
            for name in ["nobody", "no@one.example"] { _ = try await auth.login(name, password: "wrong, of course") }
            let notes = try await auth.service.database.pool.one("SELECT count(*) AS notes FROM audit") {
                try $0.int("notes")
            }
            #expect(notes == 0)
        }
    }

    @Test("Failed logins beyond the limit are not all recorded")
    func throttledFailure() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "2"]) { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 { group.addTask { _ = try await auth.login("ada", password: "wrong, of course") } }
                try await group.waitForAll()
            }
            let failed = try await auth.events(ada.jwt).filter { $0.kind == "login.failed" }
            #expect((2...5).contains(failed.count))
        }
    }

    @Test("Logout and a reused refresh token are recorded")
    func sessionEnds() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let laptop = try await auth.signIn("ada")
            _ = try await auth.service.send(.post, "/auth/logout", token: laptop.jwt)
            let thief = try await auth.signIn("ada")
            let second = try await auth.next(thief.refreshToken)
            _ = try await auth.next(second)
            #expect(try await auth.refresh(thief.refreshToken).status == 401)

            let kinds = try await auth.events(ada.jwt).map(\.kind)

            let expected = [
                "refresh_token.reused", "login.succeeded", "session.ended", "login.succeeded", "login.succeeded",
            ]
            #expect(kinds == expected)
        }
    }

    @Test("Events come page by page, and a cursor is valid only for its user")
    func pages() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            for _ in 0..<4 { _ = try await auth.signIn("ada") }
            let first = try await auth.service.send(.get, "/auth/audit?limit=2", token: ada.jwt)
            let next = try #require(first.json["next"].string)
            // A new event comes before the first page and moves nothing.
            _ = try await auth.signIn("ada")
            let rest = try await auth.service.send(.get, "/auth/audit?limit=3&cursor=\(next)", token: ada.jwt)
            let ids = (first.json["events"].array + rest.json["events"].array).compactMap { $0["id"].string }
            #expect(Set(ids).count == 5)
            #expect(rest.json["next"].string == nil)

            let bo = try await auth.signUp("bo")
            let foreign = try await auth.service.send(.get, "/auth/audit?cursor=\(next)", token: bo.jwt)
            #expect(foreign.status == 400)
            #expect(foreign.problem?.field == "cursor")
        }
    }

    @Test("A user of an application cannot read security events")
    func applicationUsers() async throws {
        try await withCustomer { acme in
            let session = try await acme.signIn("ada")
            let answer = try await acme.request(.get, "/auth/audit", session: session)
            #expect(answer.status == 403)
            #expect(answer.problem?.code == "external_account")
        }
    }

    @Test("Events are deleted after a year")
    func retentionPeriod() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            _ = try await auth.signUp("ada")
            clock.advance(seconds: 364 * 86_400)
            let ada = try await auth.signIn("ada")
            clock.advance(seconds: 2 * 86_400)
            try await auth.retention(by: clock).deleteExpired()
            let again = try await auth.signIn("ada")
            #expect(ada.userId == again.userId)
            #expect(try await auth.events(again.jwt).count == 2)
        }
    }

    @Test("A sign-in on a new device publishes an event, the first sign-in of an account does not")
    func newDeviceEvent() async throws {
        let push = EventRecorder(callee: "push")
        try await TestService.with(
            AuthService.self,
            settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "device.new_sign_in=push"],
            peers: .with(["push": push.client])
        ) { service in
            let auth = Auth(service: service)
            // The first sign-in; a known device; twice a browser without a device id; an unknown device.
            let ada = try await auth.signUp("ada", device: "phone")
            _ = try await auth.signIn("ada", device: "phone")
            _ = try await auth.login("ada", userAgent: "Browser/1")
            _ = try await auth.login("ada", userAgent: "Browser/1")
            _ = try await auth.login("ada", device: "tablet", userAgent: "Browser/1")

            let received = try await push.events(2).map { try $0.content(as: NewDeviceSignIn.self) }

            #expect(received.map(\.deviceId) == [nil, "tablet"])
            #expect(received.allSatisfy { $0.userId == ada.userId && $0.userAgent == "Browser/1" })
        }
    }
}

extension Auth {
    /// The security events of the user with this token, newest first.
    func events(_ jwt: String) async throws -> [SecurityEvent] {
        let answer = try await service.send(.get, "/auth/audit", token: jwt)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(Page<SecurityEvent>.self).items
    }
}
