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

@Suite("Owners of applications") struct ApplicationOwnerTests {
    @Test("The user who creates an application owns it")
    func owner() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let bo = try await auth.signUp("bo")
            let admin = try await auth.administrator()
            let acme = try await auth.customer(by: ada.jwt)
            let operated = try await auth.customer("Operated", by: admin.jwt)

            let shown = try await acme.asAdmin(.get, "/applications/\(acme.id)").decode(CustomerApplication.self)
            #expect(shown.owner == ada.userId)
            #expect(shown.name == "Acme")
            #expect(shown.applicationKey == acme.applicationKey)
            #expect(shown.keys.map(\.encryptionKeyId) == [acme.keyID])
            func listed(_ jwt: String) async throws -> [CustomerApplication] {
                try await auth.service.send(.get, "/applications", token: jwt)
                    .decode(Page<CustomerApplication>.self).items
            }
            #expect(try await listed(ada.jwt).map(\.applicationId) == [acme.id])
            #expect(try await listed(bo.jwt) == [])
            let all = try await listed(admin.jwt)
            #expect(all.first { $0.applicationId == acme.id }?.owner == ada.userId)
            #expect(all.contains { $0.applicationId == operated.id && $0.owner == nil })
            #expect(try await auth.asOperator.applications().items.count == 2)
        }
    }

    /// A caller, and whether it may use the routes of Ada's application.
    private struct Role: Sendable {
        var name: String
        var token: String?
        var session: String?
        var isAllowed = false
        /// The status for a caller that may not.
        var status = 404
    }

    private static func send(
        _ role: Role,
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String?,
        to auth: Auth
    ) async throws -> TestHTTPResponse {
        var headers = HTTPFields()
        headers[.diuitSession] = role.session
        return try await auth.service.send(method, path, token: role.token, body: body, headers: headers)
    }

    @Test("Only the owner and administrators reach an application; others do not learn that it exists")
    func roles() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let acme = try await auth.customer(by: ada.jwt)
            let other = try await auth.customer("Other", by: try await auth.signUp("cy").jwt)
            let roles = [
                Role(name: "owner", token: ada.jwt, isAllowed: true),
                Role(name: "administrator", token: try await auth.administrator().jwt, isAllowed: true),
                Role(name: "another user", token: try await auth.signUp("bo").jwt),
                Role(name: "an anonymous user", token: try await auth.anonymous().jwt),
                Role(name: "the owner of another application", token: other.admin),
                Role(name: "a user of the application", session: try await acme.signIn("eve")),
                // A customer's account server chooses any id, also that of an account.
                Role(name: "a user with the owner's id", session: try await acme.signIn(ada.userId, device: "own")),
                Role(name: "the same of another application", session: try await other.signIn(ada.userId)),
                Role(name: "nobody", status: 403),
            ]
            let path = "/applications/\(acme.id)"
            let routes: [(HTTPRequest.Method, String, String?)] = [
                (.get, path, nil), (.patch, path, #"{"name": "Renamed"}"#), (.get, "\(path)/keys", nil),
                (.post, "\(path)/keys", nil), (.get, "\(path)/users", nil), (.delete, "\(path)/users/none", nil),
                (.get, "\(path)/push", nil), (.put, "\(path)/push", "{}"),
            ]
            for role in roles {
                for (method, path, body) in routes {
                    let answer = try await Self.send(role, method, path, body, to: auth)
                    #expect(answer.status == (role.isAllowed ? 200 : role.status), "\(role.name) \(method) \(path)")
                    if !role.isAllowed, role.status == 404 {
                        #expect(answer.problem?.code == "application_not_found", "\(role.name) \(method) \(path)")
                    }
                }
            }
            for role in roles where !role.isAllowed {
                for path in ["\(path)/keys/\(acme.keyID)", path] {
                    let answer = try await Self.send(role, .delete, path, nil, to: auth)
                    #expect(answer.status == role.status, "\(role.name) \(path)")
                }
            }
            // The refused requests changed nothing.
            let session = try await acme.signIn("eve")
            #expect(try await acme.status(of: session) == 200)
            #expect(try await acme.asAdmin(.delete, "\(path)/keys/\(acme.keyID)").status == 200)
            #expect(try await acme.status(of: session) == 403)
            #expect(try await acme.asAdmin(.delete, path).status == 202)
        }
    }

    @Test("Only a registered user of the suite creates an application")
    func creators() async throws {
        try await withCustomer { acme in
            let anonymous = try await acme.auth.anonymous()
            let answer = try await acme.auth.post("/applications", #"{"name": "Mine"}"#, token: anonymous.jwt)
            #expect(answer.status == 403)
            #expect(answer.problem?.code == "account_required")

            var headers = HTTPFields()
            headers[.diuitSession] = try await acme.signIn("ada")
            let foreign = try await acme.auth.post("/applications", #"{"name": "Mine"}"#, headers: headers)
            #expect(foreign.status == 403)
            #expect(foreign.problem?.code == "external_account")
            let list = try await acme.auth.service.send(.get, "/applications", headers: headers)
            #expect(list.status == 403)
            #expect(try await acme.asAdmin(.get, "/applications").json["applications"].array.count == 1)
        }
    }

    @Test("With APPLICATIONS_OPEN=0 only administrators create applications")
    func closed() async throws {
        try await withAuth(settings: ["APPLICATIONS_OPEN": "0"]) { auth in
            let ada = try await auth.signUp("ada")
            let answer = try await auth.post("/applications", #"{"name": "Mine"}"#, token: ada.jwt)
            #expect(answer.status == 403)
            #expect(answer.problem?.code == "admin_required")
            _ = try await auth.customer(by: try await auth.administrator().jwt)
        }
    }

    @Test("A user owns at most ten applications, and a deleted one does not count")
    func limit() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let acme = try await auth.customer(by: ada.jwt)
            let owner = try #require(UUID(uuidString: ada.userId))
            try await auth.service.database.pool.run(
                """
                INSERT INTO applications (application_id, name, application_key, owner_id, created_at)
                SELECT 'more' || n, 'More', 'key', \(owner), now() FROM generate_series(1, 9) AS n
                """
            )
            let answer = try await auth.post("/applications", #"{"name": "Eleventh"}"#, token: ada.jwt)
            #expect(answer.status == 422)
            #expect(answer.problem?.code == "too_many_applications")

            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)").status == 202)
            #expect(try await auth.post("/applications", #"{"name": "Tenth"}"#, token: ada.jwt).status == 200)
            // Each user has a separate limit.
            let bo = try await auth.signUp("bo")
            #expect(try await auth.post("/applications", #"{"name": "First"}"#, token: bo.jwt).status == 200)
        }
    }

    @Test("An application is renamed")
    func rename() async throws {
        try await withAuth { auth in
            let acme = try await auth.customer(by: try await auth.signUp("ada").jwt)
            let path = "/applications/\(acme.id)"
            let renamed = try await acme.asAdmin(.patch, path, #"{"name": "Acme Chat"}"#)
            #expect(renamed.status == 200)
            #expect(renamed.json["name"].string == "Acme Chat")
            #expect(renamed.json["keys"].array.count == 1)
            #expect(try await acme.asAdmin(.get, path).json["name"].string == "Acme Chat")
            for body in ["{}", #"{"name": ""}"#, #"{"name": " "}"#, #"{"name": 7}"#] {
                let answer = try await acme.asAdmin(.patch, path, body)
                #expect(answer.status == 400, "\(body)")
                #expect(answer.problem?.field == "name", "\(body)")
            }
        }
    }

    @Test("The keys are listed newest first, and of the revoked ones only the newest 100 are kept")
    func keys() async throws {
        try await withAuth { auth in
            let acme = try await auth.customer(by: try await auth.signUp("ada").jwt)
            let path = "/applications/\(acme.id)/keys"
            try await auth.service.database.pool.run(
                """
                INSERT INTO application_keys (application_id, key_id, public_key, created_at, revoked_at)
                SELECT \(acme.id), 'old' || n, '\\x00', now() - interval '1 year', now() - n * interval '1 day'
                FROM generate_series(1, 101) AS n
                """
            )
            let made = try await acme.asAdmin(.post, path).decode(NewEncryptionKey.self)
            let listed = try await acme.asAdmin(.get, path)
            let keys = try listed.decode(Page<EncryptionKey>.self).items
            #expect(keys.first?.encryptionKeyId == made.encryptionKeyId)
            #expect(keys.contains { $0.encryptionKeyId == acme.keyID && $0.revokedAt == nil })
            #expect(keys.count { $0.revokedAt != nil } == 100)
            #expect(!keys.contains { $0.encryptionKeyId == "old101" })
            #expect(!listed.text.contains("PRIVATE"))
        }
    }

    @Test("Users who have signed in are found by the start of their ids, page by page")
    func users() async throws {
        try await withAuth { auth in
            let acme = try await auth.customer(by: try await auth.signUp("ada").jwt)
            let other = try await auth.customer("Other", by: try await auth.signUp("bo").jwt)
            let names = ["Ann", "ann", "ann@example.com", "annX", "ann_1", "bob", "ärger", "🎈"]
            for name in names { _ = try await acme.signIn(name) }
            _ = try await other.signIn("another")
            let path = "/applications/\(acme.id)/users"
            func found(_ query: String) async throws -> [String] {
                try await acme.asAdmin(.get, path + query).decode(Page<ApplicationUser>.self).items.map(\.userId)
            }
            #expect(try await found("") == names)
            #expect(try await found("?query=ann") == ["ann", "ann@example.com", "annX", "ann_1"])
            #expect(try await found("?query=ann_") == ["ann_1"])
            #expect(try await found("?query=%25") == [])
            #expect(try await found("?query=%F0%9F%8E%88") == ["🎈"])

            var paged: [String] = []
            var next: String? = ""
            while let cursor = next {
                let query = "?limit=3&query=\(cursor.isEmpty ? "" : "&cursor=\(cursor)")"
                let page = try await acme.asAdmin(.get, path + query).decode(Page<ApplicationUser>.self)
                paged += page.items.map(\.userId)
                next = page.next
            }
            #expect(paged == names)
            #expect(try await acme.asAdmin(.get, "\(path)?cursor=x").status == 400)
            #expect(try await acme.asAdmin(.get, "\(path)?limit=101").status == 400)

            #expect(try await acme.asAdmin(.delete, "\(path)/bob").status == 200)
            #expect(try await found("?query=bob") == [])
        }
    }

    @Test("A later sign-in updates the last sign-in and keeps the first")
    func signIns() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let acme = try await auth.customer(by: try await auth.signUp("ada").jwt)
            _ = try await acme.signIn("eve", now: clock.now)
            clock.advance(seconds: 60)
            _ = try await acme.signIn("eve", now: clock.now)
            let listed = try await acme.asAdmin(.get, "/applications/\(acme.id)/users")
            let user = try #require(try listed.decode(Page<ApplicationUser>.self).items.first)
            #expect(abs(user.lastSignedInAt.timeIntervalSince(user.firstSignedInAt) - 60) < 1)
        }
    }
}

@Suite("Deletion of applications") struct ApplicationDeletionTests {
    @Test("An account that owns applications cannot be deleted")
    func owners() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let acme = try await auth.customer(by: ada.jwt)
            let body = json(["password": .string(Auth.password)])
            let refused = try await auth.service.send(.delete, "/auth/me", token: ada.jwt, body: body)
            #expect(refused.status == 409)
            #expect(refused.problem?.code == "owns_applications")
            #expect(try await auth.me(ada.jwt).status == 200)
            await #expect(throws: APIError.self) { _ = try await auth.asOperator.deleteAccount("ada") }

            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)").status == 202)
            #expect(try await auth.service.send(.delete, "/auth/me", token: ada.jwt, body: body).status == 202)
        }
    }

    @Test("Deleting an application ends its sign-in and its sessions at once, but not those of another")
    func sessions() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let acme = try await auth.customer(by: ada.jwt)
            let other = try await auth.customer("Other", by: ada.jwt)
            let ended = [try await acme.signIn("eve"), try await acme.signIn("bob")]
            let kept = try await other.signIn("eve")
            let late = try acme.token(acme.claims("eve", nonce: try await acme.nonce()))

            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)").status == 202)

            for session in ended { #expect(try await acme.status(of: session) == 403) }
            #expect(try await acme.status(of: kept) == 200)
            let login = try await acme.login(late)
            #expect(login.status == 403)
            #expect(login.problem?.code == "application_not_found")
            let nonce = try await auth.service.send(.get, "/1/auth/nonce", headers: acme.headers)
            #expect(nonce.status == 403)
            #expect(try await acme.asAdmin(.get, "/applications/\(acme.id)").status == 404)
            #expect(try await acme.asAdmin(.post, "/applications/\(acme.id)/keys").status == 404)
            let listed = try await acme.asAdmin(.get, "/applications").json["applications"].array
            #expect(listed.map { $0["applicationId"].string } == [other.id])
            // No data of the application is left, and the route reports it as gone.
            try await eventually { try await acme.asAdmin(.delete, "/applications/\(acme.id)").status == 404 }
            let traces = try await LeftoverData.inTables(containing: [acme.id], auth.service.database.pool)
            #expect(traces == [])
        }
    }

    @Test("An application is deleted once every service has confirmed twice, also across a restart")
    func services() async throws {
        let (clock, photos, push) = (TestClock(), EventRecorder(callee: "photos"), EventRecorder(callee: "push"))
        let settings = [
            "TOKEN_ENCRYPTION_KEY": Auth.key, "APPLICATIONS_OPEN": "1",
            "EVENT_SUBSCRIBERS": "application.deleted=photos+push",
        ]
        try await TestService.with(
            AuthService.self,
            settings: settings,
            peers: .with(["photos": photos.client, "push": push.client]),
            now: { clock.now }
        ) { service in
            let auth = Auth(service: service)
            let acme = try await auth.customer(by: try await auth.signUp("ada").jwt)
            _ = try await acme.signIn("eve", now: clock.now)
            let path = "/applications/\(acme.id)"

            #expect(try await acme.asAdmin(.delete, path).status == 202)
            // A repeated request starts no second deletion.
            #expect(try await acme.asAdmin(.delete, path).status == 202)

            let first: ApplicationDeleted = try await photos.events(1)[0].content()
            #expect(first.applicationId == acme.id)
            #expect(first.deletionJob.round == 1)
            for name in ["photos", "push"] { try await Self.answer(first.deletionJob, by: name, to: service, clock) }
            #expect(try await acme.asAdmin(.delete, path).status == 202)
            clock.advance(seconds: 60)
            let second: ApplicationDeleted = try await photos.events(2)[1].content()
            #expect(second.applicationId == acme.id)
            #expect(second.deletionJob == DeletionJob(id: first.deletionJob.id, round: 2))
            try await Self.answer(second.deletionJob, by: "photos", to: service, clock)
            #expect(try await acme.asAdmin(.delete, path).status == 202)

            // A new instance of the service continues the deletion.
            try await TestService.with(
                AuthService.self,
                over: service.database,
                settings: settings,
                peers: .with(["photos": photos.client, "push": push.client]),
                now: { clock.now }
            ) { restarted in
                try await Self.answer(second.deletionJob, by: "push", to: restarted, clock)
                try await eventually { try await acme.asAdmin(.delete, path).status == 404 }
            }
            #expect(try await push.events(2).count == 2)
            let pool = service.database.pool
            try await eventually { try await LeftoverData.inTables(containing: [acme.id], pool) == [] }
        }
    }

    private static func answer(
        _ deletionJob: DeletionJob,
        by name: String,
        to service: TestService,
        _ clock: TestClock
    ) async throws {
        let erased = UserDeletionCompleted(deletionJob: deletionJob, service: name)
        let content = try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(erased))
        let event = Event(id: UUID(), type: UserDeletionCompleted.type, at: clock.now, content: content)
        let client = try service.peerClient(name, callee: "auth")
        _ = try await client.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
    }
}
