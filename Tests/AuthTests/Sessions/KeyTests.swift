import AuthAPI
import Credentials
import Foundation
import HTTPTypes
import Logging
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Signing keys") struct KeyTests {
    @Test("The key document has the current key first and a standby, without private parts")
    func keyDocument() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let answer = try await auth.service.send(.get, "/.well-known/jwks.json")
            #expect(answer.status == 200)
            let keys = answer.json["keys"].array
            #expect(keys.count == 2)
            #expect(keys[0]["kid"].string == kid(of: ada.jwt))
            for key in keys {
                guard case .object(let fields) = key else { continue }
                #expect(Set(fields.keys) == ["kty", "crv", "x", "y", "kid", "alg", "use"])
                #expect(fields["alg"]?.string == "ES256")
            }
        }
    }

    @Test("Key document and metadata are cached with an entity tag, and name the public URLs")
    func caching() async throws {
        try await withAuth(settings: ["PUBLIC_URL": "https://chat.example.org/"]) { auth in
            for name in ["jwks.json", "openid-configuration", "oauth-authorization-server"] {
                let answer = try await auth.service.send(.get, "/.well-known/\(name)")
                #expect(answer.status == 200)
                #expect(answer.headers[.cacheControl] == "public, max-age=300")
                let tag = try #require(answer.headers[.eTag])
                for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                    let again = try await auth.service.send(
                        .get,
                        "/.well-known/\(name)",
                        headers: [.ifNoneMatch: known]
                    )
                    #expect(again.status == 304)
                    #expect(again.body.isEmpty)
                    #expect(again.headers[.eTag] == tag)
                }
                let other: HTTPFields = [.ifNoneMatch: "\"x\""]
                #expect(try await auth.service.send(.get, "/.well-known/\(name)", headers: other).status == 200)
            }
            let metadata = try await auth.service.send(.get, "/.well-known/openid-configuration").json
            #expect(metadata["issuer"].string == "https://chat.example.org")
            #expect(metadata["jwks_uri"].string == "https://chat.example.org/.well-known/jwks.json")
            #expect(metadata["revocation_endpoint"].string == "https://chat.example.org/oauth/revoke")
            #expect(metadata["introspection_endpoint"].string == "https://chat.example.org/oauth/introspect")
            #expect(metadata["userinfo_endpoint"].string == "https://chat.example.org/oauth/userinfo")
        }
    }

    @Test("A rotation makes the standby key current and keeps the old key valid")
    func rotation() async throws {
        try await withAuth { auth in
            let roost = AuthClient(try auth.service.peerClient("roost", callee: "auth"))
            let before = try await auth.signUp("ada")
            let standby = try await auth.service.send(.get, "/.well-known/jwks.json").json["keys"][1]["kid"].string

            let rotation = try await roost.rotateKeys()
            #expect(rotation.current == standby)
            #expect(rotation.previous == [kid(of: before.jwt)])
            let after = try await auth.refresh(before.refreshToken).decode(SignIn.self)
            #expect(kid(of: after.jwt) == rotation.current)
            #expect(try await auth.me(before.jwt).status == 200)
            #expect(try await auth.me(after.jwt).status == 200)

            let kids = try await auth.service.send(.get, "/.well-known/jwks.json").json["keys"].array
            let expected = [rotation.current, rotation.standby] + rotation.previous
            #expect(Set(kids.map { $0["kid"].string }) == Set(expected))
        }
    }

    @Test("A previous key is deleted once no token of it can be valid")
    func keyExpiry() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let roost = AuthClient(try auth.service.peerClient("roost", callee: "auth"))
            let first = try await roost.rotateKeys()
            let retention = auth.retention(by: clock)
            clock.advance(seconds: 3_600)
            try await retention.deleteExpired()
            let second = try await roost.rotateKeys()
            #expect(Set(second.previous) == Set([first.current] + first.previous))
            clock.advance(seconds: 361)
            try await retention.deleteExpired()
            #expect(try await roost.rotateKeys().previous.count == 2)
        }
    }

    @Test("Only the operator rotates keys")
    func operatorOnly() async throws {
        try await withAuth { auth in
            for caller in ["gateway", "conversations", "auth"] {
                let client = AuthClient(try auth.service.peerClient(caller, callee: "auth"))
                let error = await #expect(throws: APIError.self) { try await client.rotateKeys() }
                #expect(error?.kind == .forbidden)
            }
            let ada = try await auth.signUp("ada")
            for token in [nil, ada.jwt] {
                let answer = try await auth.service.send(.post, "/internal/keys/rotate", token: token, body: "{}")
                #expect(answer.status == 403)
            }
        }
    }

    @Test("Two instances sign with the same key and accept each other's tokens")
    func concurrentStart() async throws {
        try await withTwoAuths { first, second in
            let ada = try await first.signUp("ada")
            let again = try await second.signIn("ada")
            #expect(kid(of: ada.jwt) == kid(of: again.jwt))
            #expect(try await second.me(ada.jwt).status == 200)
            #expect(try await first.me(again.jwt).status == 200)
        }
    }

    @Test("Instances that start at once make one set of keys")
    func concurrentFirstKeys() async throws {
        try await TestDatabase.with(migrations: AuthService.migrations) { database in
            let encryptor = try TokenEncryptor(keys: Auth.key)
            let documents = try await withThrowingTaskGroup(of: KeyDocument.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let keys = SigningKeys(
                            database: database.pool,
                            encryptor: encryptor,
                            logger: .init(label: "test"),
                            now: { Date() }
                        )
                        try await keys.load()
                        return try keys.document
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(documents).count == 1)
            #expect(documents[0].keys.count == 2)
        }
    }

    @Test("Private keys are encrypted and bound to their key id")
    func encryptedAtRest() async throws {
        try await withAuth { auth in
            let store = SigningKeyStore(db: auth.service.database.pool)
            let keys = try await store.list()
            let encryptor = try TokenEncryptor(keys: Auth.key)
            for key in keys {
                #expect(try encryptor.open(key.encryptedPrivateKey, for: "signing_keys/\(key.kid)").count == 32)
                #expect(throws: TokenEncryptor.Failure.self) {
                    try encryptor.open(key.encryptedPrivateKey, for: "signing_keys/x")
                }
            }
        }
    }

    @Test("A start without the encryption key fails, and with both keys succeeds")
    func lostEncryptionKey() async throws {
        try await withAuth { auth in
            let other = Data(repeating: 8, count: 32).base64EncodedString()
            await #expect(throws: TokenEncryptor.Failure.self) {
                try await TestService.with(
                    AuthService.self,
                    over: auth.service.database,
                    settings: ["TOKEN_ENCRYPTION_KEY": other]
                ) { _ in }
            }
            // With a new key first and the old one second, the existing rows open.
            try await TestService.with(
                AuthService.self,
                over: auth.service.database,
                settings: ["TOKEN_ENCRYPTION_KEY": "\(other),\(Auth.key)"]
            ) { _ in }
        }
    }
}

/// The `kid` in a token's header.
func kid(of jwt: String) -> String {
    let header = jwt.split(separator: ".").first.flatMap { Base64URL.decode($0) } ?? Data()
    let fields = try? WireJSON.decoder().decode(JSONValue.self, from: header)
    return fields?["kid"].string ?? ""
}
