import AuthAPI
import AuthServer
import Foundation
import HTTPTypes
import ServiceHost
import TestSupport
import Testing
import Wire

@Suite("Accounts") struct AccountTests {
    @Test("An account has these fields and no others")
    func show() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let answer = try await auth.me(ada.jwt)
            guard case .object(let fields) = answer.json else {
                Issue.record("\(answer.text)")
                return
            }
            #expect(
                Set(fields.keys)
                    == [
                        "userId", "username", "fullName", "email", "emailVerified", "isAnonymous", "createdAt",
                        "language",
                    ]
            )
            #expect(fields["createdAt"]?.string.flatMap { Timestamp.date(from: $0) } != nil)
        }
    }

    @Test("A user changes and removes the full name; unknown fields are ignored")
    func fullName() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            func patch(_ body: String) async throws -> JSONValue {
                let answer = try await auth.service.send(.patch, "/auth/me", token: ada.jwt, body: body)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try await auth.me(ada.jwt).json == answer.json)
                return answer.json["fullName"]
            }
            #expect(try await patch(#"{"fullName": "Ada Lovelace"}"#) == "Ada Lovelace")
            #expect(try await patch("{}") == "Ada Lovelace")
            #expect(try await patch(#"{"userId": "x", "isAnonymous": true}"#) == "Ada Lovelace")
            #expect(try await patch(#"{"fullName": null}"#) == .null)
        }
    }

    @Test("Every change of a name publishes the current names")
    func changeEvent() async throws {
        let photos = EventRecorder(callee: "photos")
        try await TestService.with(
            AuthService.self,
            settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "user.changed=photos"],
            peers: .with(["photos": photos.client])
        ) { service in
            let auth = Auth(service: service)
            let ada = try await auth.signUp("ada")
            for body in [#"{"fullName": "Ada Lovelace"}"#, "{}", #"{"username": "countess"}"#, #"{"fullName": null}"#] {
                #expect(try await service.send(.patch, "/auth/me", token: ada.jwt, body: body).status == 200)
            }
            #expect(
                try await service.send(.patch, "/auth/me", token: ada.jwt, body: #"{"username": ""}"#).status == 400
            )
            let guest = try await auth.anonymous()
            let named = json(["username": .string("bo"), "password": .string(Auth.password)])
            _ = try await service.send(.post, "/auth/register", token: guest.jwt, body: named)

            let changes = try await photos.events(5).map { try $0.content(as: UserChanged.self) }

            #expect(changes.allSatisfy { $0.applicationId == "roost" })
            let ofAda = changes.filter { $0.userId == ada.userId }
            #expect(ofAda.map(\.fullName) == [nil, "Ada Lovelace", "Ada Lovelace", nil])
            #expect(ofAda.map(\.username) == ["ada", "ada", "countess", "countess"])
            #expect(changes.filter { $0.userId == guest.userId }.map(\.username) == ["bo"])
        }
    }

    @Test("A user changes the username, and the old one becomes free")
    func username() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            _ = try await auth.register("bo")
            func rename(_ name: String) async throws -> Int {
                let body = json(["username": .string(name)])
                return try await auth.service.send(.patch, "/auth/me", token: ada.jwt, body: body).status
            }
            #expect(try await rename("BO") == 409)
            #expect(try await auth.login("ada").status == 200)
            #expect(try await rename("Ada") == 200)
            #expect(try await auth.me(ada.jwt).json["username"].string == "Ada")
            #expect(try await rename("countess") == 200)
            #expect(try await auth.login("countess").json["userId"].string == ada.userId)
            #expect(try await auth.login("ada").status == 401)
            #expect(try await auth.register("ada") != ada.userId)
        }
    }

    @Test("An anonymous user sets a full name, but no username")
    func anonymousAccount() async throws {
        try await withAuth { auth in
            let guest = try await auth.anonymous()
            let named = try await auth.service.send(
                .patch,
                "/auth/me",
                token: guest.jwt,
                body: #"{"username": "ada", "fullName": "Ada"}"#
            )
            #expect(named.status == 409)
            #expect(named.problem?.code == "anonymous_account")
            #expect(try await auth.me(guest.jwt).json["fullName"] == .null)

            let body = #"{"fullName": "Ada"}"#
            let fullName = try await auth.service.send(.patch, "/auth/me", token: guest.jwt, body: body)
            #expect(fullName.json["fullName"].string == "Ada")
        }
    }

    @Test("Users are found by exact username, in the order of the request, with public fields only")
    func findByUsername() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("Ada")
            let bo = try await auth.register("bo")
            _ = try await auth.anonymous()

            let query = ["bo", "ADA", "ad", "nobody", "bo"].map { "username=\($0)" }.joined(separator: "&")
            let answer = try await auth.service.send(.get, "/auth/users?\(query)", token: ada.jwt)
            #expect(answer.status == 200)
            #expect(answer.json["users"].array.map { $0["userId"].string } == [bo, ada.userId])
            #expect(answer.json["users"][1]["username"].string == "Ada")
            guard case .object(let fields) = answer.json["users"][0] else {
                Issue.record("\(answer.text)")
                return
            }
            #expect(Set(fields.keys) == ["userId", "username", "fullName"])
        }
    }

    @Test("A lookup has 1 to 100 valid names")
    func lookupLimit() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            func find(_ names: [String]) async throws -> TestHTTPResponse {
                let query = names.map { "username=\($0)" }.joined(separator: "&")
                return try await auth.service.send(.get, "/auth/users?\(query)", token: ada.jwt)
            }
            #expect(try await find((0..<99).map { "n\($0)" } + ["ada"]).json["users"].array.count == 1)
            for names in [(0..<101).map { "n\($0)" }, [], [""], [String(repeating: "x", count: 65)], ["a%00"]] {
                let answer = try await find(names)
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "username")
            }
        }
    }

    @Test(
        "Routes of the account need a valid credential",
        arguments: [
            "GET /auth/me", "PATCH /auth/me", "GET /auth/users?username=ada", "POST /auth/logout", "GET /auth/sessions",
            "DELETE /auth/sessions", "DELETE /auth/sessions/1",
        ]
    )
    func invalidCredential(_ route: String) async throws {
        let parts = route.split(separator: " ").map(String.init)
        let method = try #require(HTTPRequest.Method(parts[0]))
        try await withAuth { auth in
            let none = try await auth.service.send(method, parts[1])
            #expect(none.status == 403)
            #expect(none.problem?.code == "authentication_required")
            let bad = try await auth.service.send(method, parts[1], token: "nonsense")
            #expect(bad.status == 403)
            #expect(bad.problem?.code == "invalid_token")
        }
    }
}
