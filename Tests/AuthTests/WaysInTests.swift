import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// How the ways in to an account go together: none gets around another, and the last of them stays.
@Suite(.timeLimit(.minutes(2))) struct WaysInTests {
    @Test func anAccountElsewhereTakesTheSecondFactorToo() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            let app = try await scene.auth.addApp(of: ana, at: scene.clock)

            let asked = try await scene.signIn("ana")
            #expect(asked.status == 401 && asked.problem?.code == "mfa_required" && asked.json["jwt"] == .null)
            let finished = try await scene.auth.finish(asked.json["challenge"].string, app.code())
            #expect(finished.status == 200 && finished.json["userId"].string == ana.userId, "\(finished.text)")
        }
    }

    /// His session is as young as that of who has just shown the code.
    @Test func whoLinksInAYoungSessionIsAskedForNoCode() async throws {
        try await withIdentities { scene in
            let ada = try await scene.auth.signUp("ada")
            let app = try await scene.auth.addApp(of: ada, at: scene.clock)
            #expect(try await scene.signIn("ana", token: ada.jwt).json["userId"].string == ada.userId)

            scene.clock.advance(seconds: 301)
            let old = try await scene.signIn("ana", token: ada.jwt)
            #expect(old.status == 401 && old.problem?.code == "mfa_required")
            // Nor does another's session help.
            let bo = try await scene.auth.anonymous()
            #expect(try await scene.signIn("ana", token: bo.jwt).problem?.code == "mfa_required")
            #expect(app.recoveryCodes.count == RecoveryCode.count)
        }
    }

    @Test func aPasskeyIsAWayInAndAsTheLastItStays() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            let passkey = try await scene.auth.add(SoftAuthenticator(), of: ana).decode(Passkey.self)
            func remove(_ path: String) async throws -> TestAnswer {
                try await scene.auth.service.send(.delete, path, token: ana.jwt)
            }
            #expect(try await remove("/auth/identities/google").status == 200)
            let last = try await remove("/auth/passkeys/\(passkey.id)")
            #expect(last.status == 409 && last.problem?.code == "last_sign_in_method")

            #expect(try await scene.signIn("bo", token: ana.jwt).status == 200)
            #expect(try await remove("/auth/passkeys/\(passkey.id)").status == 200)
        }
    }

    @Test func whatChangesTheWaysInIsNoted() async throws {
        try await withIdentities { scene in
            let ada = try await scene.auth.signUp("ada")
            _ = try await scene.person("ana", token: ada.jwt)
            let passkey = try await scene.auth.add(SoftAuthenticator(), of: ada).decode(Passkey.self)
            let app = try await scene.auth.addApp(of: ada, at: scene.clock)
            for path in ["/auth/passkeys/\(passkey.id)", "/auth/identities/google"] {
                #expect(try await scene.auth.service.send(.delete, path, token: ada.jwt).status == 200)
            }
            let asked = try await scene.auth.login("ada")
            #expect(try await scene.auth.finish(asked.json["challenge"].string, "000000").status == 401)
            #expect(try await scene.auth.finish(asked.json["challenge"].string, app.recoveryCodes[0]).status == 200)
            let off = json(["code": .string(app.recoveryCodes[1])])
            #expect(
                try await scene.auth.service.send(.delete, "/auth/mfa/totp", token: ada.jwt, body: off).status == 200
            )
            let change = json([
                "currentPassword": .string(Auth.password), "newPassword": "a new horse for a new day",
            ])
            #expect(try await scene.auth.post("/auth/password", change, token: ada.jwt).status == 200)

            let kinds = try await scene.auth.events(ada.jwt).map(\.kind).filter { $0 != "session.ended" }

            #expect(
                kinds == [
                    "password.changed", "totp.removed", "recovery_code.used", "login.succeeded", "recovery_code.used",
                    "login.failed", "identity.unlinked", "passkey.removed", "totp.added", "passkey.added",
                    "login.succeeded", "identity.linked", "login.succeeded",
                ]
            )
        }
    }

    @Test func whoLeavesIsForgottenByHisProviders() async throws {
        try await withIdentities { scene in
            let answer = try await scene.complete(try await scene.authorization("ana", at: "apple"), at: "apple")
            let ana = try scene.auth.person(answer, "ana")
            #expect(try await scene.auth.service.send(.delete, "/auth/me", token: ana.jwt).status == 202)
            try await scene.tellRevocations()
            try await eventually { scene.sandbox.revocations(at: .apple).count == 1 }
            #expect(try await scene.signIn("ana", at: .apple).json["created"].bool == true)
        }
    }

    @Test func anExportSaysHowOneSignsInAndNoSecretOfIt() async throws {
        try await withIdentities { scene in
            let ana = try await scene.person("ana")
            let authenticator = SoftAuthenticator()
            #expect(try await scene.auth.add(authenticator, of: ana, name: "Ana's phone").status == 200)
            let app = try await scene.auth.addApp(of: ana, at: scene.clock)

            let answer = try await scene.auth.service.send(.get, "/auth/me/export", token: ana.jwt)
            let archive = try await Unzipped(answer.body)
            #expect(archive.flaw == nil)
            let files = archive.files.mapValues { String(decoding: $0, as: UTF8.self) }

            #expect(files["account/identities.json"]?.contains(#""provider":"google""#) == true)
            #expect(files["account/passkeys.json"]?.contains("Ana's phone") == true)
            #expect(files["account/second-factor.json"]?.contains(#""recoveryCodesLeft":10"#) == true)
            let text = files.values.joined()
            #expect(!text.contains(Base32.encode(app.totp.secret)) && !text.contains(app.recoveryCodes[0]))
        }
    }
}
