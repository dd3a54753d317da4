import AuthAPI
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Logging
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// An application's own credentials for the push providers.
@Suite("Push setup of applications") struct PushSetupTests {
    private static let appleKey = P256.Signing.PrivateKey()
    private static let browserKey = P256.Signing.PrivateKey()
    /// Made once, because generating it is slow.
    private static let googleKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private static var apns: JSONValue {
        .object([
            "key": .string(appleKey.pemRepresentation), "keyId": "ABC123DEFG", "teamId": "DEF123GHIJ",
            "topic": "com.example.app",
        ])
    }

    private static var account: [String: JSONValue] {
        get throws {
            [
                "type": "service_account", "project_id": "acme-42", "private_key_id": "0123abcd",
                "private_key": .string(try googleKey.get().pkcs8PEMRepresentation),
                "client_email": "push@acme-42.iam.gserviceaccount.com", "token_uri": "http://169.254.169.254/",
            ]
        }
    }

    private static var vapid: JSONValue {
        .object([
            "privateKey": .string(Base64URL.encode(browserKey.rawRepresentation)), "subject": "mailto:it@example.com",
        ])
    }

    private static func all() throws -> String {
        json(["apns": apns, "fcm": .object(["serviceAccount": .object(try account)]), "vapid": vapid])
    }

    private static func put(_ body: String, to acme: Customer) async throws -> TestHTTPResponse {
        try await acme.asAdmin(.put, "/applications/\(acme.id)/push", body)
    }

    private static func credentials(of acme: Customer, for caller: String = "push") async throws -> PushCredentials {
        try await AuthClient(acme.auth.service.peerClient(caller, callee: "auth")).pushCredentials(of: acme.id)
    }

    @Test("Push receives the credentials, and the customer sees no secret of them again")
    func credentialsForPush() async throws {
        try await withCustomer { acme in
            let empty = try await acme.asAdmin(.get, "/applications/\(acme.id)/push")
            #expect(empty.json == .object(["apns": .null, "fcm": .null, "vapid": .null]))

            let answer = try await Self.put(try Self.all(), to: acme)

            #expect(answer.status == 200, "\(answer.text)")
            let shown = try answer.decode(PushSetup.self)
            #expect(shown.apns == .init(keyId: "ABC123DEFG", teamId: "DEF123GHIJ", topic: "com.example.app"))
            #expect(shown.fcm == .init(projectId: "acme-42", clientEmail: "push@acme-42.iam.gserviceaccount.com"))
            #expect(shown.vapid?.publicKey == Base64URL.encode(Self.browserKey.publicKey.x963Representation))
            let secret = Base64URL.encode(Self.browserKey.rawRepresentation)
            for text in [answer.text, try await acme.asAdmin(.get, "/applications/\(acme.id)/push").text] {
                #expect(!text.contains("PRIVATE"))
                #expect(!text.contains(secret))
            }

            let received = try await Self.credentials(of: acme)
            #expect(received.apns?.key == Self.appleKey.pemRepresentation)
            #expect(received.apns?.topic == "com.example.app")
            #expect(received.vapid?.privateKey == Base64URL.encode(Self.browserKey.rawRepresentation))
            let account = try WireJSON.decode(JSONValue.self, from: Data((received.fcm?.serviceAccount ?? "").utf8))
            #expect(account["project_id"] == "acme-42")
            #expect(account["private_key_id"] == "0123abcd")
            #expect(account["private_key"] == .string(try Self.googleKey.get().pkcs8PEMRepresentation))
            // The customer cannot choose where a token is requested.
            #expect(account["token_uri"] == .null)
        }
    }

    @Test("Only push receives the credentials")
    func pushOnly() async throws {
        try await withCustomer { acme in
            _ = try await Self.put(try Self.all(), to: acme)
            for caller in ["conversations", "gateway", "roost"] {
                let refusal = await #expect(throws: APIError.self) { try await Self.credentials(of: acme, for: caller) }
                #expect(refusal?.kind == .forbidden)
            }
            let path = "/internal/applications/\(acme.id)/push"
            #expect(try await acme.asAdmin(.get, path).status == 403)
            let push = AuthClient(try acme.auth.service.peerClient("push", callee: "auth"))
            #expect(try await push.pushCredentials(of: "nobody's") == PushCredentials())
        }
    }

    @Test("An update changes only the providers that it names")
    func partialUpdate() async throws {
        try await withCustomer { acme in
            _ = try await Self.put(try Self.all(), to: acme)
            let before = try await Self.credentials(of: acme)

            let changed = try await Self.put(json(["apns": .null]), to: acme).decode(PushSetup.self)

            #expect(changed.apns == nil)
            #expect(changed.fcm != nil)
            #expect(changed.vapid != nil)
            var expected = before
            expected.apns = nil
            #expect(try await Self.credentials(of: acme) == expected)
            // A key file is accepted as text, and a VAPID key as PEM.
            let account = JSONValue.string(json(try Self.account))
            let vapid: [String: JSONValue] = [
                "privateKey": .string(Self.browserKey.pemRepresentation), "subject": "https://example.com/contact",
            ]
            let body = json(["fcm": .object(["serviceAccount": account]), "vapid": .object(vapid)])
            #expect(try await Self.put(body, to: acme).status == 200)
            let after = try await Self.credentials(of: acme)
            #expect(after.fcm == before.fcm)
            #expect(after.vapid?.privateKey == before.vapid?.privateKey)
            #expect(after.vapid?.subject == "https://example.com/contact")
        }
    }

    @Test("An invalid credential is a 400 that names its field, and nothing is stored")
    func invalidCredentials() async throws {
        let weak = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).pkcs8PEMRepresentation
        func apns(_ name: String, _ value: JSONValue?) -> String {
            guard case .object(var fields) = Self.apns else { return "" }
            fields[name] = value
            return json(["apns": .object(fields)])
        }
        func fcm(_ name: String, _ value: JSONValue?) throws -> String {
            var fields = try Self.account
            fields[name] = value
            return json(["fcm": .object(["serviceAccount": .object(fields)])])
        }
        func vapid(_ name: String, _ value: JSONValue?) -> String {
            guard case .object(var fields) = Self.vapid else { return "" }
            fields[name] = value
            return json(["vapid": .object(fields)])
        }
        let account = "fcm.serviceAccount"
        let flaws: [(String, field: String)] = [
            (apns("key", nil), "apns.key"), (apns("key", ""), "apns.key"), (apns("key", "nonsense"), "apns.key"),
            (apns("key", .string(try Self.googleKey.get().pkcs8PEMRepresentation)), "apns.key"),
            (apns("key", .integer(1)), "apns.key"), (apns("keyId", "short"), "apns.keyId"),
            (apns("keyId", .null), "apns.keyId"), (apns("teamId", "abc123defg"), "apns.teamId"),
            (apns("topic", "com example"), "apns.topic"), (apns("topic", ""), "apns.topic"),
            (json(["apns": "key"]), "apns"), (json(["fcm": .object([:])]), account),
            (json(["fcm": .object(["serviceAccount": .integer(1)])]), account),
            (json(["fcm": .object(["serviceAccount": "{"])]), account),
            (json(["fcm": .object(["serviceAccount": "[]"])]), account),
            (try fcm("type", "authorized_user"), "\(account).type"), (try fcm("type", nil), "\(account).type"),
            (try fcm("project_id", nil), "\(account).project_id"),
            (try fcm("project_id", "a/../b"), "\(account).project_id"),
            (try fcm("client_email", .integer(7)), "\(account).client_email"),
            (try fcm("client_email", "nobody"), "\(account).client_email"),
            (try fcm("private_key", "nonsense"), "\(account).private_key"),
            (try fcm("private_key", .string(weak)), "\(account).private_key"),
            (vapid("privateKey", "AAAA"), "vapid.privateKey"), (vapid("privateKey", nil), "vapid.privateKey"),
            (vapid("privateKey", .string(Base64URL.encode(Data(count: 32)))), "vapid.privateKey"),
            (vapid("subject", ""), "vapid.subject"), (vapid("subject", "it@example.com"), "vapid.subject"),
            (vapid("subject", "http://example.com"), "vapid.subject"), (vapid("subject", "mailto:"), "vapid.subject"),
        ]
        try await withCustomer { acme in
            for (body, field) in flaws {
                let answer = try await Self.put(body, to: acme)
                #expect(answer.status == 400, "\(field): \(answer.text)")
                #expect(answer.problem?.field == field, "\(field): \(answer.text)")
                #expect(!answer.text.contains("PRIVATE"))
            }
            // A valid credential beside an invalid one is not stored either.
            let half = json(["vapid": Self.vapid, "apns": .object(["key": "nonsense"])])
            #expect(try await Self.put(half, to: acme).status == 400)
            #expect(try await Self.credentials(of: acme) == PushCredentials())
            #expect(try await acme.asAdmin(.put, "/applications/nothing/push", "{}").status == 404)
        }
    }

    @Test("Credentials are encrypted and bound to their application")
    func encryptedAtRest() async throws {
        try await withCustomer { acme in
            let globex = try await acme.auth.customer("Globex", by: acme.admin)
            _ = try await Self.put(try Self.all(), to: acme)
            let pool = acme.auth.service.database.pool
            let kept = try await pool.all("SELECT ciphertext FROM push_credentials", as: { try $0.bytes("ciphertext") })
            let secrets = [
                Self.appleKey.pemRepresentation.utf8.prefix(80), "com.example.app".utf8[...], "acme-42".utf8[...],
            ]
            #expect(kept.count == 3)
            for box in kept { for secret in secrets { #expect(Data(box).range(of: Data(secret)) == nil) } }

            _ = try await pool.execute("UPDATE push_credentials SET application_id = \(globex.id)")

            await #expect(throws: APIError.self) { try await Self.credentials(of: globex) }
            #expect(try await Self.credentials(of: acme) == PushCredentials())
        }
    }

    @Test("Re-encryption makes credentials readable with the new key alone")
    func reencryption() async throws {
        let (old, new) = (Data(repeating: 8, count: 32).base64EncodedString(), Auth.key)
        try await withCustomer(settings: ["TOKEN_ENCRYPTION_KEY": old]) { acme in
            _ = try await Self.put(try Self.all(), to: acme)
            let before = try await Self.credentials(of: acme)
            func setups(_ keys: String) throws -> PushSetups {
                PushSetups(
                    database: acme.auth.service.database.pool,
                    encryptor: try TokenEncryptor(keys: keys),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                    now: { Date() }
                )
            }
            await #expect(throws: TokenEncryptor.Failure.self) { try await setups(new).credentials(of: acme.id) }

            try await acme.auth.reencrypt(keys: "\(new),\(old)")

            #expect(try await setups(new).credentials(of: acme.id) == before)
        }
    }
}
