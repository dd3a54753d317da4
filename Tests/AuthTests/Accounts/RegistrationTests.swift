import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Registration") struct RegistrationTests {
    @Test("A registered user signs in with name and password")
    func registration() async throws {
        try await withAuth { auth in
            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                body: #"{"username": "ada", "password": "correct horse", "fullName": "Ada Lovelace"}"#
            )
            #expect(answer.status == 200)
            #expect(answer.json["success"].bool == true)
            let userId = try #require(answer.json["userId"].string)
            #expect(UUID(uuidString: userId) != nil)
            #expect(userId == userId.lowercased())

            let signIn = try await auth.login("ada", password: "correct horse")
            #expect(signIn.status == 200)
            #expect(signIn.headers[.cacheControl] == "no-store")
            #expect(signIn.json["userId"].string == userId)
            #expect(signIn.json["expiresIn"].int == 3_600)
            let me = try await auth.me(signIn.json["jwt"].string)
            #expect(me.status == 200)
            #expect(me.json["userId"].string == userId)
            #expect(me.json["fullName"].string == "Ada Lovelace")
            #expect(me.json["isAnonymous"].bool == false)
        }
    }

    @Test("A form registers like JSON, and its empty fields count as missing")
    func form() async throws {
        try await withAuth { auth in
            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                body: "username=ada+l&password=p%C3%A4ss%26word&email=&fullName=",
                headers: [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
            )
            #expect(answer.status == 200, "\(answer.text)")

            let signIn = try await auth.login("ada l", password: "päss&word")
            #expect(signIn.status == 200)
            let me = try await auth.me(signIn.json["jwt"].string)
            #expect(me.json["email"] == .null)
            #expect(me.json["fullName"] == .null)
        }
    }

    @Test(
        "Names that differ only in case, width or invisible characters are the same",
        arguments: ["ADA", "ada", "Ａda", "a\u{200D}da"]
    )
    func usernameFolding(_ other: String) async throws {
        try await withAuth { auth in
            _ = try await auth.register("Ada")

            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                body: json(["username": .string(other), "password": "another password"])
            )
            #expect(answer.status == 409)
            #expect(answer.problem?.code == "username_taken")
            #expect(try await auth.login(other).status == 200)
        }
    }

    @Test("Of concurrent registrations of one name, one succeeds")
    func concurrentRegistrations() async throws {
        try await withAuth { auth in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for spelling in ["ada", "Ada", "ADA", "aDa", "adA", "aDA"] {
                    group.addTask {
                        let body = json(["username": .string(spelling), "password": "long enough"])
                        return try await auth.post("/auth/register", body).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 409, 409, 409, 409, 409])
        }
    }

    @Test("An unverified address can be registered again and signs no account in")
    func emailWithoutUsername() async throws {
        try await withAuth { auth in
            let body = #"{"email": "Ada@Example.org", "password": "correct horse"}"#
            let first = try await auth.post("/auth/register", body)
            #expect(first.status == 200)

            // An unverified address is reserved for no account: the second registration gets the same response.
            let second = try await auth.post("/auth/register", body)
            #expect(second.status == 200)
            #expect(second.json["userId"] != first.json["userId"])
            #expect(try await auth.login("ada@example.org", password: "correct horse").status == 401)
        }
    }

    @Test("A verified address signs in beside the username, and is not found by lookup")
    func verifiedEmailSignIn() async throws {
        try await withAuth { auth in
            let body = #"{"username": "ada", "email": "Ada@Example.org", "password": "correct horse battery staple"}"#
            let answer = try await auth.post("/auth/register", body)
            let userId = try #require(answer.json["userId"].string.flatMap { UUID(uuidString: $0) })
            try await auth.service.database.pool.run(
                """
                WITH verified AS (
                    UPDATE accounts SET email_verified = true WHERE user_id = \(userId) RETURNING user_id
                )
                INSERT INTO sign_in_names (name, user_id) SELECT 'ada@example.org', user_id FROM verified
                """
            )

            #expect(try await auth.login("ADA@example.ORG").json["userId"].string == userId.uuidString.lowercased())
            // The username still signs in, and a lookup by address finds no user.
            let ada = try await auth.signIn("ada")
            let found = try await auth.service.send(.get, "/auth/users?username=ada@example.org", token: ada.jwt)
            #expect(found.json["users"].array.isEmpty)
            #expect(try await auth.me(ada.jwt).json["emailVerified"].bool == true)
        }
    }

    @Test("An anonymous user who registers keeps id and session")
    func anonymousUpgrade() async throws {
        try await withAuth { auth in
            let guest = try await auth.anonymous(device: "phone")
            #expect(try await auth.me(guest.jwt).json["isAnonymous"].bool == true)

            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                token: guest.jwt,
                body: #"{"username": "ada", "password": "correct horse battery staple"}"#
            )
            #expect(answer.status == 200)
            #expect(answer.json["userId"].string == guest.userId)

            let me = try await auth.me(guest.jwt)
            #expect(me.json["username"].string == "ada")
            #expect(me.json["isAnonymous"].bool == false)
            #expect(try await auth.refresh(guest.refreshToken).json["userId"].string == guest.userId)
            #expect(try await auth.signIn("ada").userId == guest.userId)
        }
    }

    @Test("A registered user's token cannot repeat the upgrade")
    func repeatedUpgrade() async throws {
        try await withAuth { auth in
            for body in [
                #"{"username": "ada", "password": "correct horse"}"#,
                #"{"email": "ada@example.org", "password": "correct horse"}"#,
            ] {
                let guest = try await auth.anonymous()
                let first = try await auth.post("/auth/register", body, token: guest.jwt)
                #expect(first.status == 200)
                let again = try await auth.post("/auth/register", body, token: guest.jwt)
                #expect(again.status == 409)
                #expect(again.problem?.code == "already_registered")
            }
        }
    }

    @Test("Of two concurrent upgrades of an anonymous user, one succeeds")
    func concurrentUpgrades() async throws {
        try await withAuth { auth in
            let guest = try await auth.anonymous()
            async let first = auth.service.send(
                .post,
                "/auth/register",
                token: guest.jwt,
                body: #"{"username": "ada", "password": "correct horse"}"#
            )
            async let second = auth.service.send(
                .post,
                "/auth/register",
                token: guest.jwt,
                body: #"{"username": "bo", "password": "correct horse"}"#
            )
            let answers = try await [first, second]
            let winners = answers.filter { $0.status == 200 && $0.json["userId"].string == guest.userId }
            #expect(winners.count == 1)
        }
    }

    @Test("An upgrade to a taken name changes nothing")
    func upgradeToTakenName() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada")
            let guest = try await auth.anonymous()
            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                token: guest.jwt,
                body: #"{"username": "Ada", "password": "correct horse", "fullName": "X"}"#
            )
            #expect(answer.status == 409)
            let me = try await auth.me(guest.jwt)
            #expect(me.json["isAnonymous"].bool == true)
            #expect(me.json["fullName"] == .null)
        }
    }

    @Test("Registration refuses an invalid credential, and login ignores it")
    func invalidCredential() async throws {
        let ada = #"{"username": "ada", "password": "correct horse battery staple"}"#
        try await withAuth { auth in
            let bad = try await auth.post("/auth/register", ada, token: "nonsense")
            #expect(bad.status == 403)
            let basic = try await auth.post("/auth/register", ada, headers: [.authorization: "Basic YTpi"])
            #expect(basic.status == 403)
            let good = try await auth.post("/auth/register", ada)
            #expect(good.status == 200)
            let login = try await auth.post("/auth/login", ada, token: "nonsense")
            #expect(login.status == 200)
        }
    }

    @Test("A registered user's token registers a new, separate account")
    func registerAnotherAccount() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                token: ada.jwt,
                body: #"{"username": "bo", "password": "correct horse"}"#
            )
            #expect(answer.status == 200)
            #expect(answer.json["userId"].string != ada.userId)
            #expect(try await auth.me(ada.jwt).json["username"].string == "ada")
        }
    }

    @Test("A registration cannot set the fields that the server sets")
    func unknownFields() async throws {
        try await withAuth { auth in
            let id = UUID().uuidString.lowercased()
            let answer = try await auth.service.send(
                .post,
                "/auth/register",
                body: """
                    {"username": "ada", "password": "correct horse battery staple", "userId": "\(id)", "scope": "admin",
                    "emailVerified": true, "email": "ada@example.org", "isAnonymous": true, "passwordHash": "x"}
                    """
            )
            #expect(answer.status == 200)
            #expect(answer.json["userId"].string != id)
            let me = try await auth.me(try await auth.signIn("ada").jwt)
            #expect(me.json["emailVerified"].bool == false)
            #expect(me.json["isAnonymous"].bool == false)
        }
    }

    @Test("Passwords are stored as Argon2id hashes with 19 MiB and two passes")
    func passwordHash() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada")
            let hash = try await auth.service.database.pool.one("SELECT password_hash FROM accounts") {
                try $0.string("password_hash")
            }
            #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        }
    }
}
