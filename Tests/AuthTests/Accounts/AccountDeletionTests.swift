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

/// Deletion of accounts: the credential that it needs, and the services that must confirm it.
@Suite("Account deletion") struct AccountDeletionTests {
    @Test("A user deletes the account with the password, which ends all sessions and frees the name")
    func withPassword() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada", device: "phone-of-ada")
            let laptop = try await fixture.auth.signIn("ada")
            fixture.clock.advance(seconds: 600)

            let complete = try await fixture.delete(ada, password: Auth.password)

            #expect(complete.status == 202)
            #expect(complete.json["success"].bool == true)
            for jwt in [ada.jwt, laptop.jwt] { #expect(try await fixture.auth.me(jwt).status == 403) }
            #expect(try await fixture.auth.login("ada").status == 401)
            #expect(try await fixture.auth.refresh(laptop.refreshToken).status == 401)
            // The name is free again and belongs to a new account.
            #expect(try await fixture.auth.register("ada") != ada.userId)
        }
    }

    @Test("Deletion without a password needs a sign-in within the last five minutes")
    func afterRecentSignIn() async throws {
        try await withAccountDeletion { fixture in
            let bo = try await fixture.auth.anonymous()
            fixture.clock.advance(seconds: 301)
            let late = try await fixture.delete(bo)
            #expect(late.status == 403)
            #expect(late.problem?.code == "recent_login_required")
            #expect(try await fixture.auth.me(bo.jwt).status == 200)

            let ada = try await fixture.auth.signUp("ada")
            fixture.clock.advance(seconds: 300)
            #expect(try await fixture.delete(ada).status == 202)
        }
    }

    @Test("A token refresh does not count as a recent sign-in")
    func refreshIsNotSignIn() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada")
            fixture.clock.advance(seconds: 301)
            let next = try await fixture.auth.refresh(ada.refreshToken).decode(SignIn.self)
            let complete = try await fixture.auth.service.send(.delete, "/auth/me", token: next.jwt)
            #expect(complete.problem?.code == "recent_login_required")
        }
    }

    @Test("Ten wrong passwords end in a 429, and a new sign-in can still delete the account")
    func wrongPassword() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada")
            for _ in 0..<10 {
                let complete = try await fixture.delete(ada, password: "none of the passwords")
                #expect(complete.status == 403)
                #expect(complete.problem?.code == "wrong_password")
                #expect(complete.problem?.field == "password")
            }
            let refused = try await fixture.delete(ada, password: Auth.password)
            #expect(refused.status == 429)
            // The owner can still sign in, and a recent sign-in is enough to delete.
            let again = try await fixture.auth.signIn("ada")
            #expect(try await fixture.delete(again).status == 202)
        }
    }

    @Test("A malformed password is a 400 and deletes nothing")
    func malformedBody() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada")
            for (body, field) in [(#"{"password":""}"#, "password"), (#"{"password":7}"#, "password")] {
                let complete = try await fixture.auth.service.send(.delete, "/auth/me", token: ada.jwt, body: body)
                #expect(complete.status == 400, "\(complete.text)")
                #expect(complete.problem?.field == field, "\(complete.text)")
            }
            let long = try await fixture.delete(ada, password: String(repeating: "x", count: 129))
            #expect(long.status == 400)
            #expect(long.problem?.code == "password_length")
            #expect(try await fixture.auth.me(ada.jwt).status == 200)
        }
    }

    @Test("Every service confirms the deletion twice, and then no trace of the account is left")
    func twoRounds() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("adelheid", device: "phone-of-hers")
            #expect(try await fixture.delete(ada).status == 202)
            let first = try await fixture.deletion(1)
            #expect(first.userId == ada.userId)
            #expect(first.deletionJob?.round == 1)
            try await fixture.complete(first, by: "photos")
            try await fixture.complete(first, by: "push")
            // The second round waits for requests that were under way when the account was deleted.
            try await fixture.advance()
            #expect(try await fixture.pending().map(\.round) == [1])
            fixture.clock.advance(seconds: 60)

            let second = try await fixture.deletion(2)

            #expect(second.userId == ada.userId)
            #expect(second.deletionJob?.id == first.deletionJob?.id)
            #expect(second.deletionJob?.round == 2)
            try await fixture.complete(second, by: "photos")
            #expect(try await fixture.pending().map(\.pendingServices) == [["push"]])
            try await fixture.complete(second, by: "push")
            try await eventually { try await fixture.pending().isEmpty }
            // The outbox deletes its row a moment after delivery.
            try await eventually {
                try await LeftoverData.inTables(
                    containing: [ada.userId, "adelheid", "phone-of-hers"],
                    fixture.auth.service.database.pool
                ) == []
            }
        }
    }

    @Test("A repeated or late confirmation does not count for the second round")
    func repeatedCompletion() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada")
            _ = try await fixture.delete(ada)
            let first = try await fixture.deletion(1)
            try await fixture.complete(first, by: "photos")
            try await fixture.complete(first, by: "photos")
            #expect(try await fixture.pending().map(\.pendingServices) == [["push"]])
            try await fixture.complete(first, by: "push")
            fixture.clock.advance(seconds: 60)
            _ = try await fixture.deletion(2)
            try await fixture.complete(first, by: "push")
            #expect(try await fixture.pending().map(\.pendingServices) == [["photos", "push"]])
        }
    }

    /// The user may return under the same id at once, and a second round would delete the new data.
    @Test("A user of an application is deleted in one round")
    func applicationUserOneRound() async throws {
        try await withAccountDeletion { fixture in
            let acme = try await fixture.auth.customer(by: try await fixture.auth.administrator().jwt)
            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)/users/ada").status == 200)
            let deleted = try await fixture.deletion(1)
            #expect(deleted.applicationId == acme.id)
            #expect(deleted.userId == "ada")
            try await fixture.complete(deleted, by: "photos")
            try await fixture.complete(deleted, by: "push")
            try await eventually { try await fixture.pending().isEmpty }
            #expect(try await fixture.photos.events(1).count == 1)
        }
    }

    @Test("A user of an application cannot delete an account")
    func externalAccount() async throws {
        try await withAccountDeletion { fixture in
            let acme = try await fixture.auth.customer(by: try await fixture.auth.administrator().jwt)
            let session = try await acme.signIn("ada")
            let complete = try await acme.request(.delete, "/auth/me", session: session)
            #expect(complete.status == 403)
            #expect(complete.problem?.code == "external_account")
        }
    }

    @Test("Sign-ins during a deletion leave no session, and there is one deletion job")
    func concurrentSignIns() async throws {
        try await withAccountDeletion { fixture in
            let ada = try await fixture.auth.signUp("ada", device: "phone")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { _ = try await fixture.auth.login("ada", device: "phone") }
                    group.addTask { _ = try await fixture.delete(ada, password: Auth.password) }
                }
                try await group.waitForAll()
            }
            let sessions = try await fixture.auth.service.database.pool.all("SELECT user_id FROM sessions") {
                try $0.string("user_id")
            }
            #expect(!sessions.contains(ada.userId))
            #expect(try await fixture.pending().count == 1)
        }
    }

    @Test("Only the operator lists pending deletions")
    func operatorOnly() async throws {
        try await withAccountDeletion { fixture in
            let client = AuthClient(try fixture.auth.service.peerClient("photos", callee: "auth"))
            await #expect(throws: APIError.self) { try await client.deletions() }
        }
    }
}

/// Auth beside two services that receive the events of deleted users.
private struct AccountDeletionFixture: Sendable {
    let auth: Auth
    let clock: TestClock
    let photos: EventRecorder

    func delete(_ person: Auth.Person, password: String? = nil) async throws -> TestHTTPResponse {
        let body = password.map { json(["password": .string($0)]) }
        return try await auth.service.send(.delete, "/auth/me", token: person.jwt, body: body)
    }

    /// The event that photos received at this position, starting with 1, once it has arrived.
    func deletion(_ count: Int) async throws -> UserDeleted {
        try await photos.events(count)[count - 1].content()
    }

    func complete(_ deleted: UserDeleted, by service: String) async throws {
        let completion = UserDeletionCompleted(deletionJob: try #require(deleted.deletionJob), service: service)
        let content = try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(completion))
        let event = Event(id: UUID(), type: UserDeletionCompleted.type, at: clock.now, content: content)
        let client = try auth.service.peerClient(service, callee: "auth")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }

    func pending() async throws -> [PendingDeletion] {
        try await AuthClient(try auth.service.peerClient("roost", callee: "auth")).deletions()
    }

    /// Runs the periodic work now.
    func advance() async throws {
        try await DeletionJobs(
            database: auth.service.database.pool,
            events: .none,
            secondPassDelay: 60,
            setAside: auth.service.database.setAside([.deletionJob], now: { clock.now }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { clock.now }
        ).advance()
    }
}

private func withAccountDeletion(_ body: @Sendable (AccountDeletionFixture) async throws -> Void) async throws {
    let (clock, photos, push) = (TestClock(), EventRecorder(callee: "photos"), EventRecorder(callee: "push"))
    try await TestService.with(
        AuthService.self,
        settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "user.deleted=photos+push"],
        peers: .with(["photos": photos.client, "push": push.client]),
        now: { clock.now }
    ) { service in try await body(AccountDeletionFixture(auth: Auth(service: service), clock: clock, photos: photos)) }
}
