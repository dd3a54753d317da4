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

/// The linking of external identities to accounts; an e-mail address alone takes over no account.
@Suite("Linking of identities", .timeLimit(.minutes(2))) struct IdentityLinkingTests {
    @Test("A verified address at a second provider signs in to the same account")
    func verifiedAddress() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            fixture.sandbox.set(IdentityProfile(email: "Ana@Gmail.com"), of: "ana", at: .apple)
            let again = try await fixture.signIn("ana", at: .apple)
            #expect(again.json["userId"].string == ana.userId)
            #expect(again.json["created"].bool == false)
            let list = try await fixture.auth.service.send(.get, "/auth/identities", token: ana.jwt).json
            #expect(list["identities"].array.map { $0["provider"].string } == ["apple", "google"])
        }
    }

    @Test("An unverified address makes a separate account")
    func unverifiedAddress() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            let claimed = IdentityProfile(email: "ana@gmail.com", emailVerified: false)
            fixture.sandbox.set(claimed, of: "mallory", at: .apple)
            let mallory = try await fixture.signIn("mallory", at: .apple)
            #expect(mallory.json["created"].bool == true)
            #expect(mallory.json["userId"].string != ana.userId)
            let me = try await fixture.auth.me(mallory.json["jwt"].string).json
            #expect(me["emailVerified"].bool == false)
            #expect(try await fixture.person("ana").userId == ana.userId)
        }
    }

    /// Google verifies addresses of other domains only once, unless it hosts the domain.
    @Test("Google verifies Gmail addresses and those of domains that it hosts")
    func googleDomains() async throws {
        try await withIdentities { fixture in
            let elsewhere = IdentityProfile(email: "bo@example.org")
            fixture.sandbox.set(elsewhere, of: "bo", at: .google)
            let bo = try await fixture.person("bo")
            #expect(try await fixture.auth.me(bo.jwt).json["emailVerified"].bool == false)

            let kept = IdentityProfile(email: "cara@example.org", hostedDomain: "example.org")
            fixture.sandbox.set(kept, of: "cara", at: .google)
            let cara = try await fixture.person("cara")
            #expect(try await fixture.auth.me(cara.jwt).json["emailVerified"].bool == true)
        }
    }

    /// An attacker registers an address and waits for its owner to sign in with Google.
    @Test("An unverified registration with the address does not get the Google account")
    func preregisteredAddress() async throws {
        try await withIdentities { fixture in
            let body = json(["email": "ana@gmail.com", "password": .string(Auth.password), "username": "mallory"])
            let mallory = try await fixture.auth.post("/auth/register", body).json["userId"].string
            let ana = try await fixture.person("ana")
            #expect(ana.userId != mallory)
            #expect(try await fixture.auth.login("ana@gmail.com").status == 401)
            #expect(try await fixture.auth.login("mallory").json["userId"].string == mallory)
        }
    }

    @Test("Linking to an account needs a recent sign-in")
    func recentSignIn() async throws {
        try await withIdentities { fixture in
            let ada = try await fixture.auth.signUp("ada")
            fixture.clock.advance(seconds: 301)
            let late = try await fixture.signIn("ana", token: ada.jwt)
            #expect(late.status == 403)
            #expect(late.problem?.code == "recent_login_required")

            let fresh = try await fixture.auth.signIn("ada")
            let linked = try await fixture.signIn("ana", token: fresh.jwt)
            #expect(linked.json["userId"].string == ada.userId)
            #expect(linked.json["created"].bool == false)
            #expect(try await fixture.person("ana").userId == ada.userId)
            let again = try await fixture.signIn("ana", token: fresh.jwt)
            #expect(again.status == 200)
        }
    }

    @Test("An identity belongs to one account, and an account has one identity per provider")
    func takenIdentity() async throws {
        try await withIdentities { fixture in
            _ = try await fixture.person("ana")
            let ada = try await fixture.auth.signUp("ada")
            let taken = try await fixture.signIn("ana", token: ada.jwt)
            #expect(taken.status == 409)
            #expect(taken.problem?.code == "identity_taken")

            #expect(try await fixture.signIn("bo", token: ada.jwt).status == 200)
            let second = try await fixture.signIn("cara", token: ada.jwt)
            #expect(second.status == 409)
            #expect(second.problem?.code == "provider_linked")
            #expect(try await fixture.signIn("cara").json["created"].bool == true)
        }
    }

    @Test("Linking an identity makes an anonymous account a full one")
    func anonymousUpgrade() async throws {
        try await withIdentities { fixture in
            let guest = try await fixture.auth.anonymous()
            let ana = try await fixture.signIn("ana", token: guest.jwt)
            #expect(ana.json["userId"].string == guest.userId)
            #expect(ana.json["created"].bool == false)
            let me = try await fixture.auth.me(guest.jwt).json
            #expect(me["isAnonymous"].bool == false)
            #expect(me["fullName"].string == "Ana Albers")
            #expect(me["emailVerified"].bool == true)

            let another = try await fixture.auth.anonymous()
            #expect(try await fixture.signIn("ana", token: another.jwt).json["userId"].string == guest.userId)
            #expect(try await fixture.auth.me(another.jwt).json["isAnonymous"].bool == true)
        }
    }

    @Test("The last way to sign in cannot be unlinked")
    func lastSignInMethod() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            func unlink(_ provider: String, _ person: Auth.Person) async throws -> TestHTTPResponse {
                try await fixture.auth.service.send(.delete, "/auth/identities/\(provider)", token: person.jwt)
            }
            let last = try await unlink("google", ana)
            #expect(last.status == 409)
            #expect(last.problem?.code == "last_sign_in_method")
            #expect(try await unlink("apple", ana).status == 404)
            #expect(try await fixture.person("ana").userId == ana.userId)

            let ada = try await fixture.auth.signUp("ada")
            _ = try await fixture.person("bo", token: ada.jwt)
            #expect(try await unlink("google", ada).status == 200)
            #expect(try await unlink("google", ada).status == 404)
            #expect(try await fixture.signIn("bo").json["created"].bool == true)
        }
    }

    @Test("Concurrent requests cannot unlink the last two identities")
    func concurrentUnlinks() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            _ = try await fixture.person("cara", at: .apple, token: ana.jwt)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
                for provider in ["google", "apple"] {
                    tasks.addTask {
                        let path = "/auth/identities/\(provider)"
                        return try await fixture.auth.service.send(.delete, path, token: ana.jwt).status
                    }
                }
                return try await tasks.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 409])
        }
    }

    @Test("Re-encryption makes a provider's token readable with the new key alone")
    func reencryption() async throws {
        try await withIdentities { fixture in
            _ = try await fixture.complete(try await fixture.authorization("ana", at: "apple"), at: "apple")
            let pool = fixture.auth.service.database.pool
            func stored() async throws -> (key: String, box: Data) {
                try await pool.one("SELECT encryption_key_id, encrypted_token FROM identities") { row in
                    (try row.string("encryption_key_id"), try row.decode("encrypted_token"))
                }
            }
            let before = try await stored()
            let next = Data(repeating: 9, count: 32).base64EncodedString()
            try await fixture.auth.reencrypt(keys: "\(next),\(Auth.key)")
            let after = try await stored()
            #expect(after.key != before.key)
            #expect(after.box != before.box)

            let owner = try await pool.one("SELECT provider, subject FROM identities") { row in
                IdentityStore.Key(provider: try row.string("provider"), subject: try row.string("subject"))
            }
            let ciphertext = TokenEncryptor.EncryptedValue(box: after.box, keyID: after.key)
            let token = try TokenEncryptor(keys: next).open(ciphertext, for: IdentityRevocations.owner(owner))
            #expect(String(decoding: token, as: UTF8.self).hasSuffix("-refresh"))
        }
    }

    /// Apple gives its apps a code with the token, and auth redeems it for the token that revocation needs.
    @Test("The code of an Apple app must belong to the user of the ID token")
    func appleAppCode() async throws {
        try await withIdentities { fixture in
            let nonce = ProofNonce.random()
            let draft = IDTokenDraft(person: "ana", nonce: ProofNonce.claim(of: nonce))
            func post(codeOf person: String) async throws -> TestHTTPResponse {
                let token = try #require(try fixture.sandbox.idToken(draft, by: .apple))
                let code = try #require(fixture.sandbox.appCode(of: person, by: .apple))
                return try await fixture.post(
                    "apple",
                    ["idToken": .string(token), "nonce": .string(nonce), "code": .string(code)]
                )
            }
            let another = try await post(codeOf: "bo")
            #expect(another.status == 401)
            #expect(another.problem?.code == "invalid_code")
            #expect(try await post(codeOf: "ana").status == 200)
            let pool = fixture.auth.service.database.pool
            let encrypted = try await pool.one("SELECT count(encrypted_token) AS count FROM identities") {
                try $0.int("count")
            }
            #expect(encrypted == 1)
        }
    }

    @Test("Unlinking revokes the token at the provider once, after failures too")
    func unlinkRevokes() async throws {
        try await withIdentities { fixture in
            let ada = try await fixture.auth.signUp("ada")
            let authorization = try await fixture.authorization("ana", at: "apple")
            #expect(try await fixture.complete(authorization, at: "apple", token: ada.jwt).status == 200)
            try fixture.sandbox.script.add(ScriptRule(service: .apple, path: "revoke", status: 503))
            let answer = try await fixture.auth.service.send(.delete, "/auth/identities/apple", token: ada.jwt)
            #expect(answer.status == 200)
            try await fixture.deliverRevocations()
            #expect(fixture.sandbox.revocations(at: .apple).isEmpty)

            fixture.sandbox.script.clear()
            fixture.clock.advance(seconds: 3_600)
            try await fixture.deliverRevocations()
            // Auth's own worker may have claimed the row a moment earlier and not have deleted it yet.
            let pool = fixture.auth.service.database.pool
            try await eventually {
                try await pool.first("SELECT FROM identity_revocations") { _ in true } == nil
            }
            #expect(fixture.sandbox.revocations(at: .apple).count == 1)
            fixture.clock.advance(seconds: 86_400)
            try await fixture.deliverRevocations()
            #expect(fixture.sandbox.revocations(at: .apple).count == 1)
        }
    }
}
