import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The ways to sign in, together: none bypasses another, and the last one cannot be removed.
@Suite("Ways to sign in together", .timeLimit(.minutes(2))) struct SignInMethodTests {
    @Test("A sign-in with a provider needs the second factor")
    func secondFactorAfterIdentity() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            let app = try await fixture.auth.addApp(of: ana, at: fixture.clock)

            let pending = try await fixture.signIn("ana")
            #expect(pending.status == 401)
            #expect(pending.problem?.code == "mfa_required")
            #expect(pending.json["jwt"] == .null)
            let finished = try await fixture.auth.finish(pending.json["challenge"].string, app.code())
            #expect(finished.status == 200, "\(finished.text)")
            #expect(finished.json["userId"].string == ana.userId, "\(finished.text)")
        }
    }

    /// A new session with a second factor has just shown the code.
    @Test("Linking from a recent session needs no second factor, from an old one it does")
    func linkingAfterRecentSignIn() async throws {
        try await withIdentities { fixture in
            let ada = try await fixture.auth.signUp("ada")
            let app = try await fixture.auth.addApp(of: ada, at: fixture.clock)
            #expect(try await fixture.signIn("ana", token: ada.jwt).json["userId"].string == ada.userId)

            fixture.clock.advance(seconds: 301)
            let old = try await fixture.signIn("ana", token: ada.jwt)
            #expect(old.status == 401)
            #expect(old.problem?.code == "mfa_required")
            // Another user's session does not help.
            let bo = try await fixture.auth.anonymous()
            #expect(try await fixture.signIn("ana", token: bo.jwt).problem?.code == "mfa_required")
            #expect(app.recoveryCodes.count == RecoveryCode.count)
        }
    }

    @Test("The last passkey stays until there is another way to sign in")
    func lastPasskey() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            let passkey = try await fixture.auth.add(SoftwareAuthenticator(), of: ana).decode(Passkey.self)
            func remove(_ path: String) async throws -> TestHTTPResponse {
                try await fixture.auth.service.send(.delete, path, token: ana.jwt)
            }
            #expect(try await remove("/auth/identities/google").status == 200)
            let last = try await remove("/auth/passkeys/\(passkey.id)")
            #expect(last.status == 409)
            #expect(last.problem?.code == "last_sign_in_method")

            #expect(try await fixture.signIn("bo", token: ana.jwt).status == 200)
            #expect(try await remove("/auth/passkeys/\(passkey.id)").status == 200)
        }
    }

    @Test("Every change of a way to sign in is recorded")
    func auditEvents() async throws {
        try await withIdentities { fixture in
            let ada = try await fixture.auth.signUp("ada")
            _ = try await fixture.person("ana", token: ada.jwt)
            let passkey = try await fixture.auth.add(SoftwareAuthenticator(), of: ada).decode(Passkey.self)
            let app = try await fixture.auth.addApp(of: ada, at: fixture.clock)
            for path in ["/auth/passkeys/\(passkey.id)", "/auth/identities/google"] {
                #expect(try await fixture.auth.service.send(.delete, path, token: ada.jwt).status == 200)
            }
            let pending = try await fixture.auth.login("ada")
            #expect(try await fixture.auth.finish(pending.json["challenge"].string, "000000").status == 401)
            #expect(try await fixture.auth.finish(pending.json["challenge"].string, app.recoveryCodes[0]).status == 200)
            let off = json(["code": .string(app.recoveryCodes[1])])
            #expect(
                try await fixture.auth.service.send(.delete, "/auth/mfa/totp", token: ada.jwt, body: off).status == 200
            )
            let change = json([
                "currentPassword": .string(Auth.password), "newPassword": "a new horse for a new day",
            ])
            #expect(try await fixture.auth.post("/auth/password", change, token: ada.jwt).status == 200)

            let kinds = try await fixture.auth.events(ada.jwt).map(\.kind).filter { $0 != "session.ended" }

            #expect(
                kinds == [
                    "password.changed", "totp.removed", "recovery_code.used", "login.succeeded", "recovery_code.used",
                    "login.failed", "identity.unlinked", "passkey.removed", "totp.added", "passkey.added",
                    "login.succeeded", "identity.linked", "login.succeeded",
                ]
            )
        }
    }

    @Test("Deleting an account revokes the tokens of its providers and frees the identity")
    func deletionRevokesIdentities() async throws {
        try await withIdentities { fixture in
            let answer = try await fixture.complete(try await fixture.authorization("ana", at: "apple"), at: "apple")
            let ana = try fixture.auth.person(answer, "ana")
            #expect(try await fixture.auth.service.send(.delete, "/auth/me", token: ana.jwt).status == 202)
            try await fixture.deliverRevocations()
            try await eventually { fixture.sandbox.revocations(at: .apple).count == 1 }
            #expect(try await fixture.signIn("ana", at: .apple).json["created"].bool == true)
        }
    }

    @Test("The export lists identities, passkeys and the second factor without secrets")
    func exportedMethods() async throws {
        try await withIdentities { fixture in
            let ana = try await fixture.person("ana")
            let authenticator = SoftwareAuthenticator()
            #expect(try await fixture.auth.add(authenticator, of: ana, name: "Ana's phone").status == 200)
            let app = try await fixture.auth.addApp(of: ana, at: fixture.clock)

            let answer = try await fixture.auth.service.send(.get, "/auth/me/export", token: ana.jwt)
            let archive = try await Unzipped(answer.body)
            #expect(archive.problem == nil)
            let files = archive.files.mapValues { String(decoding: $0, as: UTF8.self) }

            #expect(files["account/identities.json"]?.contains(#""provider":"google""#) == true)
            #expect(files["account/passkeys.json"]?.contains("Ana's phone") == true)
            #expect(files["account/second-factor.json"]?.contains(#""recoveryCodesLeft":10"#) == true)
            let text = files.values.joined()
            #expect(!text.contains(Base32.encode(app.totp.secret)))
            #expect(!text.contains(app.recoveryCodes[0]))
        }
    }
}
