import AuthAPI
import CryptoExtras
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Applications") struct ApplicationTests {
    @Test("A new application has an id, an application key and an RSA key")
    func create() async throws {
        try await withCustomer { acme in
            #expect(acme.key.keySizeInBits == 2_048)
            #expect(acme.id.wholeMatch(of: /[0-9a-f]{24}/) != nil)
            #expect(acme.applicationKey.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            #expect(acme.keyID.wholeMatch(of: /[0-9a-f]{16}/) != nil)

            let listed = try await acme.asAdmin(.get, "/applications").decode(Page<CustomerApplication>.self).items
            let shown = try #require(listed.first)
            #expect(listed.count == 1)
            #expect(shown.name == "Acme")
            #expect(shown.applicationId == acme.id)
            #expect(shown.applicationKey == acme.applicationKey)
            #expect(shown.keys.map(\.encryptionKeyId) == [acme.keyID])
        }
    }

    @Test("Only the public half of an application's key is stored and shown")
    func publicKeyOnly() async throws {
        try await withCustomer { acme in
            let kept = try await acme.auth.service.database.pool.one(
                "SELECT public_key FROM application_keys",
                as: { try $0.decode("public_key", as: Data.self) }
            )
            #expect(kept == acme.key.publicKey.derRepresentation)
            let answer = try await acme.asAdmin(.get, "/applications")
            #expect(!answer.text.contains("PRIVATE"))
        }
    }

    @Test("An application needs a valid name")
    func missingName() async throws {
        try await withAuth { auth in
            let admin = try await auth.administrator().jwt
            for (body, code) in [
                ("{}", "missing_field"), (#"{"name": ""}"#, "missing_field"), (#"{"name": 1}"#, "invalid_type"),
                (#"{"name": "  "}"#, "name_characters"), (#"{"name": "a\nb"}"#, "name_characters"),
                (json(["name": .string(String(repeating: "x", count: 101))]), "name_length"),
            ] {
                let answer = try await auth.post("/applications", body, token: admin)
                #expect(answer.status == 400, "\(body)")
                #expect(answer.problem?.code == code, "\(body)")
                #expect(answer.problem?.field == "name", "\(body)")
            }
        }
    }

    @Test("Applications are listed page by page, each once")
    func pages() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let admin = try await auth.administrator().jwt
            for number in 0..<5 {
                _ = try await auth.customer("\(number)", by: admin)
                if number.isMultiple(of: 2) { clock.advance(seconds: 1) }
            }
            var names: [String] = []
            var path = "/applications?limit=2"
            while true {
                let page = try await auth.service.send(.get, path, token: admin).decode(Page<CustomerApplication>.self)
                names += page.items.map(\.name)
                guard let next = page.next else { break }
                path = "/applications?limit=2&cursor=\(next)"
            }
            #expect(names.count == 5)
            #expect(Set(names).count == 5)
            #expect(names.last == "0")
            #expect(try await auth.service.send(.get, "/applications?cursor=x", token: admin).status == 400)
        }
    }

    @Test("Revoking a key ends the sessions that it signed in, and a new key signs in before that")
    func keyRotation() async throws {
        try await withCustomer { acme in
            let before = try await acme.signIn("ada", device: "old")
            let answer = try await acme.asAdmin(.post, "/applications/\(acme.id)/keys")
            let made = try answer.decode(NewEncryptionKey.self)
            #expect(answer.headers[.cacheControl] == "no-store")
            let renewed = Customer(
                auth: acme.auth,
                id: acme.id,
                applicationKey: acme.applicationKey,
                keyID: made.encryptionKeyId,
                key: try _RSA.Signing.PrivateKey(pemRepresentation: made.encryptionKey),
                admin: acme.admin
            )
            let after = try await renewed.signIn("ada", device: "new")
            #expect(try await acme.status(of: before) == 200)

            let path = "/applications/\(acme.id)/keys/\(acme.keyID)"
            #expect(try await acme.asAdmin(.delete, path).status == 200)

            #expect(try await acme.status(of: before) == 403)
            #expect(try await acme.status(of: after) == 200)
            let refused = try await acme.login(acme.token(acme.claims("ada", nonce: acme.nonce())))
            #expect(refused.status == 401)
            #expect(refused.problem?.code == "revoked_key")
            _ = try await renewed.signIn("ada")
            let keys = try await acme.asAdmin(.get, "/applications").json["applications"][0]["keys"].array
            #expect(keys.map { $0["encryptionKeyId"].string } == [made.encryptionKeyId, acme.keyID])
            #expect(keys.map { $0["revokedAt"] == .null } == [true, false])
            // A repeated request changes nothing.
            #expect(try await acme.asAdmin(.delete, path).status == 200)
            #expect(try await acme.asAdmin(.get, "/applications").json["applications"][0]["keys"].array == keys)
        }
    }

    @Test("Unknown applications, keys and users are a 404")
    func notFound() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            for (method, path) in [
                (HTTPRequest.Method.post, "/applications/nothing/keys"),
                (.delete, "/applications/nothing/keys/\(acme.keyID)"),
                (.delete, "/applications/\(acme.id)/keys/nothing"),
                (.delete, "/applications/\(other.id)/keys/\(acme.keyID)"),
                (.get, "/applications/nothing/push"), (.get, "/applications/roost/push"),
                (.delete, "/applications/nothing/users/ada"), (.delete, "/applications/roost/users/ada"),
                (.delete, "/applications/\(acme.id)/users/\(String(repeating: "x", count: 256))"),
                (.delete, "/applications/\(acme.id)/users/a%00b"),
            ] {
                #expect(try await acme.asAdmin(method, path).status == 404, "\(path)")
            }
        }
    }

    @Test("Concurrent requests cannot exceed the limit of keys, and revoking one makes room")
    func keyLimit() async throws {
        try await withCustomer { acme in
            let path = "/applications/\(acme.id)/keys"
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<Applications.maximumKeys + 2 {
                    group.addTask {
                        // The threads that generate keys take few at a time: then the client retries after 429 or 503.
                        while true {
                            let status = try await acme.asAdmin(.post, path).status
                            if status != 503, status != 429 { return status }
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == Applications.maximumKeys - 1)
            #expect(statuses.count { $0 == 422 } == 3)
            _ = try await acme.asAdmin(.delete, "\(path)/\(acme.keyID)")
            #expect(try await acme.asAdmin(.post, path).status == 200)
        }
    }

    @Test("Deleting a user ends the user's sessions only, and the user may sign in again")
    func deletedUser() async throws {
        try await withCustomer { acme in
            let name = "ada/1 @π\n"
            let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let sessions = [try await acme.signIn(name), try await acme.signIn(name, device: "laptop")]
            let bo = try await acme.signIn("bo")

            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)/users/\(path)").status == 200)

            for session in sessions { #expect(try await acme.status(of: session) == 403) }
            #expect(try await acme.status(of: bo) == 200)
            #expect(try await acme.status(of: try await acme.signIn(name)) == 200)
            #expect(try await acme.asAdmin(.delete, "/applications/\(acme.id)/users/never-seen").status == 200)
        }
    }
}
