import AuthAPI
import COSE
import Crypto
import Foundation
import HTTPTypes
import ServiceHost
import TestSupport
import Testing
import WebAuthn
import Wire

@testable import AuthServer

@Suite("Passkeys", .timeLimit(.minutes(5))) struct PasskeyTests {
    @Test("A passkey signs in, and the list shows its last use")
    func signIn() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            var phone = SoftwareAuthenticator(key: .edDSA(Curve25519.Signing.PrivateKey()))
            phone.userHandle = Self.handle(of: ada)
            let added = try await auth.add(phone, of: ada, name: "Ada's phone")
            #expect(added.status == 200, "\(added.text)")
            let passkey = try added.decode(Passkey.self)
            #expect(passkey.name == "Ada's phone")
            #expect(passkey.lastUsedAt == nil)

            let answer = try await auth.login(by: phone, device: "phone-7f3a")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers[.cacheControl] == "no-store", "\(answer.text)")
            let signIn = try answer.decode(SignIn.self)
            #expect(signIn.userId == ada.userId)
            #expect(try await auth.me(signIn.jwt).status == 200)

            let list = try await auth.service.send(.get, "/auth/passkeys", token: ada.jwt).decode(Page<Passkey>.self)
            #expect(list.items.map(\.id) == [passkey.id])
            #expect(list.items.first?.lastUsedAt != nil)
        }
    }

    private static func handle(of person: Auth.Person) -> Data? {
        UUID(uuidString: person.userId).map { id in withUnsafeBytes(of: id.uuid) { Data($0) } }
    }

    @Test("The options of a new passkey follow the settings and list the existing passkeys")
    func creationOptions() async throws {
        let settings = ["PUBLIC_URL": "https://social.example.org", "APP_NAME": "Birds"]
        try await withAuth(settings: settings) { auth in
            let ada = try await auth.signUp("ada")
            var phone = SoftwareAuthenticator(relyingParty: "social.example.org", origin: "https://social.example.org")
            #expect(try await auth.add(phone, of: ada).status == 200)
            let options = try await auth.service.send(.post, "/auth/passkeys/options", token: ada.jwt)
                .decode(PasskeyCreationOptions.self)
            #expect(options.rp.id == "social.example.org")
            #expect(options.rp.name == "Birds")
            #expect(options.user.name == "ada")
            #expect(Base64URL.decode(options.user.id) == Self.handle(of: ada))
            #expect(options.pubKeyCredParams.map(\.alg) == [-7, -8, -257])
            #expect(options.attestation == "none")
            #expect(options.authenticatorSelection.userVerification == "required")
            #expect(options.excludeCredentials.map(\.id) == [Base64URL.encode(phone.id)])
            #expect(options.excludeCredentials.first?.transports == ["internal", "hybrid"])

            phone.origin = "https://elsewhere.example.org"
            #expect(try await auth.login(by: phone).status == 401)
        }
    }

    @Test("A challenge works once, for ten minutes, for its user and purpose")
    func challenges() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let (ada, bo) = (try await auth.signUp("ada"), try await auth.signUp("bo"))
            let (first, second) = (SoftwareAuthenticator(), SoftwareAuthenticator())
            let challenge = try await auth.creationChallenge(ada)
            // Another user's challenge, a sign-in challenge, and an invented one.
            for wrong in [try await auth.creationChallenge(bo), try await auth.loginChallenge(), "AAAA"] {
                let answer = try await auth.add(first, of: ada, challenge: wrong)
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "invalid_challenge")
            }
            #expect(try await auth.add(first, of: ada, challenge: challenge).status == 200)
            #expect(try await auth.add(second, of: ada, challenge: challenge).status == 400)

            let login = try await auth.loginChallenge()
            let foreign = try await auth.creationChallenge(ada)
            #expect(try await auth.login(by: first, challenge: foreign).status == 401)
            #expect(try await auth.login(by: first, challenge: login).status == 200)
            #expect(try await auth.login(by: first, challenge: login).status == 401)
            let late = try await auth.loginChallenge()
            clock.advance(seconds: 601)
            #expect(try await auth.login(by: first, challenge: late).status == 401)
        }
    }

    @Test("An unknown, forged, unverified or copied passkey is refused")
    func rejectedPasskeys() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            var phone = SoftwareAuthenticator()
            phone.signCount = 5
            #expect(try await auth.add(phone, of: ada).status == 200)
            var stolen = SoftwareAuthenticator()
            stolen.id = phone.id
            stolen.signCount = 6
            var unverified = phone
            unverified.signCount = 6
            unverified.flags = SoftwareAuthenticator.Flag.present
            var foreign = phone
            foreign.signCount = 6
            foreign.userHandle = Data(count: 16)
            // The last one is a copy: its counter is that of the registration.
            for wrong in [SoftwareAuthenticator(), stolen, unverified, foreign, phone] {
                let answer = try await auth.login(by: wrong)
                #expect(answer.status == 401)
                #expect(answer.problem?.code == "invalid_passkey")
                #expect(answer.problem?.field == nil)
            }
            phone.signCount = 6
            #expect(try await auth.login(by: phone).status == 200)
            #expect(try await auth.login(by: phone).status == 401)
        }
    }

    @Test("Malformed responses of authenticators are a 400")
    func malformedResponses() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            var unverified = SoftwareAuthenticator()
            unverified.flags = SoftwareAuthenticator.Flag.present
            var elsewhere = SoftwareAuthenticator()
            elsewhere.origin = "https://example.org"
            for wrong in [unverified, elsewhere] {
                let answer = try await auth.add(wrong, of: ada)
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "invalid_passkey")
            }
            for (path, token) in [("/auth/passkeys", ada.jwt as String?), ("/auth/login/passkey", nil)] {
                for body in ["{}", "[]", "null", #"{"id": "a=", "rawId": "a", "type": "public-key", "response": {}}"#] {
                    #expect(try await auth.post(path, body, token: token).status == 400, "\(path) \(body)")
                }
            }
            let response = #"{"clientDataJSON": "", "authenticatorData": "", "signature": ""}"#
            let other = #"{"id": "", "rawId": "", "type": "key", "response": \#(response)}"#
            #expect(try await auth.post("/auth/login/passkey", other).problem?.field == "type")
            #expect(try await auth.add(SoftwareAuthenticator(), of: ada, name: "").problem?.field == "name")
            let long = String(repeating: "x", count: 65)
            #expect(try await auth.add(SoftwareAuthenticator(), of: ada, name: long).problem?.field == "name")
        }
    }

    @Test("Adding a passkey needs a recent sign-in or the password, and a registered account")
    func reauthentication() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            clock.advance(seconds: 301)
            let refused = try await auth.service.send(.post, "/auth/passkeys/options", token: ada.jwt)
            #expect(refused.status == 403)
            #expect(refused.problem?.code == "recent_login_required")
            let password = json(["password": .string(Auth.password)])
            #expect(try await auth.post("/auth/passkeys/options", password, token: ada.jwt).status == 200)
            let anonymous = try await auth.anonymous()
            #expect(try await auth.service.send(.post, "/auth/passkeys/options", token: anonymous.jwt).status == 409)
        }
    }

    @Test("A passkey belongs to one account, and only its user removes it")
    func ownership() async throws {
        try await withAuth { auth in
            let (ada, bo) = (try await auth.signUp("ada"), try await auth.signUp("bo"))
            let phone = SoftwareAuthenticator()
            let passkey = try await auth.add(phone, of: ada).decode(Passkey.self)
            // A credential id can be registered once, by any account.
            #expect(try await auth.add(phone, of: bo).status == 409)

            #expect(try await auth.service.send(.delete, "/auth/passkeys/\(passkey.id)", token: bo.jwt).status == 404)
            #expect(try await auth.service.send(.delete, "/auth/passkeys/x", token: ada.jwt).status == 404)
            #expect(try await auth.service.send(.delete, "/auth/passkeys/\(passkey.id)", token: ada.jwt).status == 200)
            #expect(try await auth.login(by: phone).status == 401)
            #expect(try await auth.service.send(.delete, "/auth/passkeys/\(passkey.id)", token: ada.jwt).status == 404)
        }
    }

    @Test("Concurrent requests cannot exceed the limit of passkeys")
    func limit() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<Passkeys.maximum + 4 {
                    group.addTask { try await auth.add(SoftwareAuthenticator(), of: ada).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == Passkeys.maximum)
            #expect(statuses.filter { $0 == 409 }.count == 4)
        }
    }

    /// A passkey is two factors in one.
    @Test("A passkey needs no second factor")
    func noSecondFactor() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            let phone = SoftwareAuthenticator()
            #expect(try await auth.add(phone, of: ada).status == 200)
            _ = try await auth.addApp(of: ada, at: clock)
            #expect(try await auth.login("ada").status == 401)
            #expect(try await auth.login(by: phone).status == 200)
        }
    }

    @Test(
        "An invalid relying party or origin stops the start",
        arguments: [
            ("PASSKEY_RP_ID", "https://example.org"), ("PASSKEY_RP_ID", "example.org:8080"),
            ("PASSKEY_ORIGINS", "https://example.com"), ("PASSKEY_ORIGINS", "http://example.org"),
            ("PASSKEY_ORIGINS", "https://example.org/"), ("PASSKEY_ORIGINS", "https://notexample.org"),
            ("PASSKEY_ORIGINS", "android:apk-key-hash:"),
        ]
    )
    func invalidSettings(name: String, value: String) async throws {
        await #expect(throws: SettingError.self) {
            try await withAuth(settings: ["PUBLIC_URL": "https://example.org", name: value]) { _ in }
        }
    }
}
