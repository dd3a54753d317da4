import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Which account an account elsewhere belongs to, and that an e-mail address takes over none.
@Suite(.timeLimit(.minutes(2))) struct IdentityLinkingTests {
    @Test func theSameAddressLinksWhereItIsVerifiedOnBothSides() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            scene.sandbox.set(IdentityProfile(email: "Ana@Gmail.com"), of: "ana", at: .apple)
            let again = try await scene.signIn("ana", at: .apple)
            #expect(again.json["userId"].string == ana.userId && again.json["created"].bool == false)
            let list = try await scene.auth.service.send(.get, "/auth/identities", token: ana.jwt).json
            #expect(list["identities"].array.map { $0["provider"].string } == ["apple", "google"])
        }
    }

    @Test func anAddressThatAProviderHasNotVerifiedLinksNothing() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            let claimed = IdentityProfile(email: "ana@gmail.com", emailVerified: false)
            scene.sandbox.set(claimed, of: "mallory", at: .apple)
            let mallory = try await scene.signIn("mallory", at: .apple)
            #expect(mallory.json["created"].bool == true && mallory.json["userId"].string != ana.userId)
            let me = try await scene.auth.me(mallory.json["jwt"].string).json
            #expect(me["emailVerified"].bool == false)
            #expect(try await scene.person("ana").userId == ana.userId)
        }
    }

    /// Google knows of an address elsewhere only that it was once somebody's.
    @Test func googleIsBelievedAboutItsOwnAddresses() async throws {
        try await withIdentities { scene in
            let elsewhere = IdentityProfile(email: "bo@example.org")
            scene.sandbox.set(elsewhere, of: "bo", at: .google)
            let bo = try await scene.person("bo")
            #expect(try await scene.auth.me(bo.jwt).json["emailVerified"].bool == false)

            let kept = IdentityProfile(email: "cara@example.org", hostedDomain: "example.org")
            scene.sandbox.set(kept, of: "cara", at: .google)
            let cara = try await scene.person("cara")
            #expect(try await scene.auth.me(cara.jwt).json["emailVerified"].bool == true)
        }
    }

    /// Somebody registers another's address before him, and waits for him to come by his Google account.
    @Test func anAddressTakenBeforeItsOwnerComesIsNoWayIn() async throws {
        try await withIdentities { scene in
            let body = json(["email": "ana@gmail.com", "password": .string(Auth.password), "username": "mallory"])
            let mallory = try await scene.auth.post("/auth/register", body).json["userId"].string
            let ana = try await scene.person("ana")
            #expect(ana.userId != mallory)
            #expect(try await scene.auth.login("ana@gmail.com").status == 401)
            #expect(try await scene.auth.login("mallory").json["userId"].string == mallory)
        }
    }

    @Test func whoHasJustSignedInLinks() async throws {
        try await withIdentities { scene in
            let ada = try await scene.auth.signUp("ada")
            scene.clock.advance(seconds: 301)
            let late = try await scene.signIn("ana", token: ada.jwt)
            #expect(late.status == 403 && late.problem?.code == "recent_login_required")

            let fresh = try await scene.auth.signIn("ada")
            let linked = try await scene.signIn("ana", token: fresh.jwt)
            #expect(linked.json["userId"].string == ada.userId && linked.json["created"].bool == false)
            #expect(try await scene.person("ana").userId == ada.userId)
            let again = try await scene.signIn("ana", token: fresh.jwt)
            #expect(again.status == 200)
        }
    }

    @Test func whatIsAnothersIsNotLinked() async throws {
        try await withIdentities { scene in
            _ = try await scene.person("ana")
            let ada = try await scene.auth.signUp("ada")
            let taken = try await scene.signIn("ana", token: ada.jwt)
            #expect(taken.status == 409 && taken.problem?.code == "identity_taken")

            #expect(try await scene.signIn("bo", token: ada.jwt).status == 200)
            let second = try await scene.signIn("cara", token: ada.jwt)
            #expect(second.status == 409 && second.problem?.code == "provider_linked")
            #expect(try await scene.signIn("cara").json["created"].bool == true)
        }
    }

    @Test func anAnonymousAccountIsNamedAndKeepsItsID() async throws {
        try await withIdentities { scene in
            let nobody = try await scene.auth.anonymous()
            let ana = try await scene.signIn("ana", token: nobody.jwt)
            #expect(ana.json["userId"].string == nobody.userId && ana.json["created"].bool == false)
            let me = try await scene.auth.me(nobody.jwt).json
            #expect(me["isAnonymous"].bool == false && me["fullName"].string == "Ana Albers")
            #expect(me["emailVerified"].bool == true)

            let another = try await scene.auth.anonymous()
            #expect(try await scene.signIn("ana", token: another.jwt).json["userId"].string == nobody.userId)
            #expect(try await scene.auth.me(another.jwt).json["isAnonymous"].bool == true)
        }
    }

    @Test func theLastWayInStays() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            func unlink(_ provider: String, _ person: Auth.Person) async throws -> TestAnswer {
                try await scene.auth.service.send(.delete, "/auth/identities/\(provider)", token: person.jwt)
            }
            let last = try await unlink("google", ana)
            #expect(last.status == 409 && last.problem?.code == "last_sign_in_method")
            #expect(try await unlink("apple", ana).status == 404)
            #expect(try await scene.person("ana").userId == ana.userId)

            let ada = try await scene.auth.signUp("ada")
            _ = try await scene.person("bo", token: ada.jwt)
            #expect(try await unlink("google", ada).status == 200)
            #expect(try await unlink("google", ada).status == 404)
            #expect(try await scene.signIn("bo").json["created"].bool == true)
        }
    }

    @Test func ofTwoWaysInOneAtLeastStaysHoweverTheyAreTaken() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            _ = try await scene.person("cara", at: .apple, token: ana.jwt)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
                for provider in ["google", "apple"] {
                    tasks.addTask {
                        let path = "/auth/identities/\(provider)"
                        return try await scene.auth.service.send(.delete, path, token: ana.jwt).status
                    }
                }
                return try await tasks.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 409])
        }
    }

    @Test func whatIsToBeForgottenByIsSealedByTodaysKey() async throws {
        try await withIdentities { scene in
            _ = try await scene.complete(try await scene.authorization("ana", at: "apple"), at: "apple")
            let pool = scene.auth.service.database.pool
            func sealing() async throws -> (key: String, box: Data) {
                try await pool.one("SELECT sealing_key, sealed_token FROM identities") { row in
                    (try row.string("sealing_key"), try row.decode("sealed_token"))
                }
            }
            let before = try await sealing()
            let next = Data(repeating: 9, count: 32).base64EncodedString()
            try await scene.auth.reencrypt(keys: "\(next),\(Auth.key)")
            let after = try await sealing()
            #expect(after.key != before.key && after.box != before.box)

            let owner = try await pool.one("SELECT provider, subject FROM identities") { row in
                IdentityStore.Key(provider: try row.string("provider"), subject: try row.string("subject"))
            }
            let sealed = Sealer.Sealed(box: after.box, keyID: after.key)
            let token = try Sealer(keys: next).open(sealed, for: IdentityRevocations.owner(owner))
            #expect(String(decoding: token, as: UTF8.self).hasSuffix("-refresh"))
        }
    }

    /// Apple's apps get a code besides the token, and by that we get what Apple is later told to forget by.
    @Test func applesCodeFromAnAppIsTakenWithTheToken() async throws {
        try await withIdentities { scene in
            let nonce = ProofNonce.random()
            let draft = IDTokenDraft(person: "ana", nonce: ProofNonce.claim(of: nonce))
            func post(codeOf person: String) async throws -> TestAnswer {
                let token = try #require(try scene.sandbox.idToken(draft, by: .apple))
                let code = try #require(scene.sandbox.appCode(of: person, by: .apple))
                return try await scene.post(
                    "apple",
                    ["idToken": .string(token), "nonce": .string(nonce), "code": .string(code)]
                )
            }
            let another = try await post(codeOf: "bo")
            #expect(another.status == 401 && another.problem?.code == "invalid_code")
            #expect(try await post(codeOf: "ana").status == 200)
            let pool = scene.auth.service.database.pool
            let sealed = try await pool.one("SELECT count(sealed_token) AS sealed FROM identities") {
                try $0.int("sealed")
            }
            #expect(sealed == 1)
        }
    }

    @Test func aProviderIsToldToForgetWhoUnlinks() async throws {
        try await withIdentities { scene in
            let ada = try await scene.auth.signUp("ada")
            let authorization = try await scene.authorization("ana", at: "apple")
            #expect(try await scene.complete(authorization, at: "apple", token: ada.jwt).status == 200)
            try scene.sandbox.script.add(ScriptRule(service: .apple, path: "revoke", status: 503))
            let answer = try await scene.auth.service.send(.delete, "/auth/identities/apple", token: ada.jwt)
            #expect(answer.status == 200)
            try await scene.tellRevocations()
            #expect(scene.sandbox.revocations(at: .apple).isEmpty)

            scene.sandbox.script.clear()
            scene.clock.advance(seconds: 3_600)
            try await scene.tellRevocations()
            // Auth's own worker may have been quicker by a moment, and has it in hand until it has noted so.
            let pool = scene.auth.service.database.pool
            try await eventually {
                try await pool.first("SELECT FROM identity_revocations") { _ in true } == nil
            }
            #expect(scene.sandbox.revocations(at: .apple).count == 1)
            scene.clock.advance(seconds: 86_400)
            try await scene.tellRevocations()
            #expect(scene.sandbox.revocations(at: .apple).count == 1)
        }
    }
}
