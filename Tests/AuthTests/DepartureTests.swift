import AuthAPI
import Foundation
import HTTPTypes
import Logging
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// How an account goes, and what is waited for until it is gone.
@Suite struct DepartureTests {
    @Test func whoShowsHisPasswordIsGoneAtOnce() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada", device: "phone-of-ada")
            let laptop = try await scene.auth.signIn("ada")
            scene.clock.advance(seconds: 600)

            let answer = try await scene.delete(ada, password: Auth.password)

            #expect(answer.status == 202 && answer.json["success"].bool == true)
            for jwt in [ada.jwt, laptop.jwt] { #expect(try await scene.auth.me(jwt).status == 403) }
            #expect(try await scene.auth.login("ada").status == 401)
            #expect(try await scene.auth.refresh(laptop.refreshToken).status == 401)
            // The name is anybody's again, and whoever takes it is somebody else.
            #expect(try await scene.auth.register("ada") != ada.userId)
        }
    }

    @Test func aSignInOfTheLastFiveMinutesIsEnough() async throws {
        try await withDepartures { scene in
            let bo = try await scene.auth.anonymous()
            scene.clock.advance(seconds: 301)
            let late = try await scene.delete(bo)
            #expect(late.status == 403 && late.problem?.code == "recent_login_required")
            #expect(try await scene.auth.me(bo.jwt).status == 200)

            let ada = try await scene.auth.signUp("ada")
            scene.clock.advance(seconds: 300)
            #expect(try await scene.delete(ada).status == 202)
        }
    }

    /// A refresh is no sign-in: whoever has stolen the token can make one.
    @Test func aRefreshDoesNotMakeASignInFresh() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada")
            scene.clock.advance(seconds: 301)
            let next = try await scene.auth.refresh(ada.refreshToken).decode(SignIn.self)
            let answer = try await scene.auth.service.send(.delete, "/auth/me", token: next.jwt)
            #expect(answer.problem?.code == "recent_login_required")
        }
    }

    @Test func aWrongPasswordChangesNothingAndIsNotToBeGuessed() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada")
            for _ in 0..<10 {
                let answer = try await scene.delete(ada, password: "none of the passwords")
                #expect(answer.status == 403 && answer.problem?.code == "wrong_password")
                #expect(answer.problem?.field == "password")
            }
            let refused = try await scene.delete(ada, password: Auth.password)
            #expect(refused.status == 429)
            // The owner signs in all the same, and by that may go.
            let again = try await scene.auth.signIn("ada")
            #expect(try await scene.delete(again).status == 202)
        }
    }

    @Test func whatIsMalformedIsRefused() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada")
            for (body, field) in [(#"{"password":""}"#, "password"), (#"{"password":7}"#, "password")] {
                let answer = try await scene.auth.service.send(.delete, "/auth/me", token: ada.jwt, body: body)
                #expect(answer.status == 400 && answer.problem?.field == field, "\(answer.text)")
            }
            let long = try await scene.delete(ada, password: String(repeating: "x", count: 129))
            #expect(long.status == 400 && long.problem?.code == "password_length")
            #expect(try await scene.auth.me(ada.jwt).status == 200)
        }
    }

    @Test func itIsDoneOnceEveryServiceHasAnsweredTwice() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("adelheid", device: "phone-of-hers")
            #expect(try await scene.delete(ada).status == 202)
            let first = try await scene.deletion(1)
            #expect(first.userId == ada.userId && first.departure?.round == 1)
            try await scene.answer(first, by: "photos")
            try await scene.answer(first, by: "push")
            // Not before whatever was under way when he went is over.
            try await scene.goOn()
            #expect(try await scene.pending().map(\.round) == [1])
            scene.clock.advance(seconds: 60)

            let second = try await scene.deletion(2)

            #expect(second.userId == ada.userId && second.departure?.id == first.departure?.id)
            #expect(second.departure?.round == 2)
            try await scene.answer(second, by: "photos")
            #expect(try await scene.pending().map(\.waitsFor) == [["push"]])
            try await scene.answer(second, by: "push")
            try await eventually { try await scene.pending().isEmpty }
            // What was told is struck off a moment after it was taken.
            try await eventually {
                try await Traces.inTables(
                    naming: [ada.userId, "adelheid", "phone-of-hers"],
                    scene.auth.service.database.pool
                ) == []
            }
        }
    }

    @Test func anAnswerThatComesTwiceOrLateCountsOnce() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada")
            _ = try await scene.delete(ada)
            let first = try await scene.deletion(1)
            try await scene.answer(first, by: "photos")
            try await scene.answer(first, by: "photos")
            #expect(try await scene.pending().map(\.waitsFor) == [["push"]])
            try await scene.answer(first, by: "push")
            scene.clock.advance(seconds: 60)
            _ = try await scene.deletion(2)
            try await scene.answer(first, by: "push")
            #expect(try await scene.pending().map(\.waitsFor) == [["photos", "push"]])
        }
    }

    /// He may come back by the same name at once, and would be wiped by the second time.
    @Test func aCustomersPersonIsAskedAboutOnce() async throws {
        try await withDepartures { scene in
            let acme = try await scene.auth.customer(by: try await scene.auth.administrator().jwt)
            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)/users/ada").status == 200)
            let deleted = try await scene.deletion(1)
            #expect(deleted.applicationId == acme.id && deleted.userId == "ada")
            try await scene.answer(deleted, by: "photos")
            try await scene.answer(deleted, by: "push")
            try await eventually { try await scene.pending().isEmpty }
            #expect(try await scene.photos.events(1).count == 1)
        }
    }

    @Test func aCustomersPersonIsNotOursToDelete() async throws {
        try await withDepartures { scene in
            let acme = try await scene.auth.customer(by: try await scene.auth.administrator().jwt)
            let session = try await acme.signIn("ada")
            let answer = try await acme.ask(.delete, "/auth/me", session: session)
            #expect(answer.status == 403 && answer.problem?.code == "external_account")
        }
    }

    @Test func whoGoesAsksOnceAndSignInsBesideItLeaveNothing() async throws {
        try await withDepartures { scene in
            let ada = try await scene.auth.signUp("ada", device: "phone")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { _ = try await scene.auth.login("ada", device: "phone") }
                    group.addTask { _ = try await scene.delete(ada, password: Auth.password) }
                }
                try await group.waitForAll()
            }
            let sessions = try await scene.auth.service.database.pool.all("SELECT user_id FROM sessions") {
                try $0.string("user_id")
            }
            #expect(!sessions.contains(ada.userId))
            #expect(try await scene.pending().count == 1)
        }
    }

    @Test func whoIsOperatorAloneSeesWhoIsWaitedFor() async throws {
        try await withDepartures { scene in
            let client = AuthClient(try scene.auth.service.neighbour("photos", callee: "auth"))
            await #expect(throws: APIError.self) { try await client.departures() }
        }
    }
}

/// Auth beside two services that hear who is deleted.
private struct DepartureScene: Sendable {
    let auth: Auth
    let clock: TestClock
    let photos: EventRecorder

    func delete(_ person: Auth.Person, password: String? = nil) async throws -> TestAnswer {
        let body = password.map { json(["password": .string($0)]) }
        return try await auth.service.send(.delete, "/auth/me", token: person.jwt, body: body)
    }

    /// What photos was told in which place, once it was.
    func deletion(_ count: Int) async throws -> UserDeleted {
        try await photos.events(count)[count - 1].content()
    }

    func answer(_ deleted: UserDeleted, by service: String) async throws {
        let erased = UserErased(departure: try #require(deleted.departure), service: service)
        let content = try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(erased))
        let event = Event(id: UUID(), type: UserErased.type, at: clock.now, content: content)
        let client = try auth.service.neighbour(service, callee: "auth")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }

    func pending() async throws -> [PendingDeparture] {
        try await AuthClient(try auth.service.neighbour("roost", callee: "auth")).departures()
    }

    /// What is done once a second, now.
    func goOn() async throws {
        try await Departures(
            database: auth.service.database.pool,
            events: .none,
            settling: 60,
            setAside: auth.service.database.setAside([.departure], now: { clock.now }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { clock.now }
        ).goOn()
    }
}

private func withDepartures(_ body: @Sendable (DepartureScene) async throws -> Void) async throws {
    let (clock, photos, push) = (TestClock(), EventRecorder(callee: "photos"), EventRecorder(callee: "push"))
    try await TestService.with(
        AuthService.self,
        settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "user.deleted=photos+push"],
        neighbours: .with(["photos": photos.client, "push": push.client]),
        now: { clock.now }
    ) { service in try await body(DepartureScene(auth: Auth(service: service), clock: clock, photos: photos)) }
}
