import AuthAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The standard routes of OAuth 2.0 and OpenID Connect: revocation, introspection and user info.
@Suite("OAuth routes") struct OAuthTests {
    private static func revoke(_ token: String, _ auth: Auth) async throws -> TestHTTPResponse {
        try await auth.service.send(
            .post,
            "/oauth/revoke",
            body: "token=\(token)&token_type_hint=anything",
            headers: [.contentType: "application/x-www-form-urlencoded"]
        )
    }

    @Test("Revoking a refresh token or an access token ends its session only")
    func revocation() async throws {
        try await withAuth { auth in
            for isRefreshToken in [true, false] {
                let ada = try await auth.signUp(isRefreshToken ? "ada" : "bea")
                let other = try await auth.signIn(ada.username)
                #expect(try await Self.revoke(isRefreshToken ? ada.refreshToken : ada.jwt, auth).status == 200)
                #expect(try await auth.me(ada.jwt).status == 403)
                #expect(try await auth.refresh(ada.refreshToken).status == 401)
                #expect(try await auth.me(other.jwt).status == 200)
            }
        }
    }

    @Test("Revoking a used refresh token ends its session")
    func usedRefreshToken() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let next = try await auth.next(ada.refreshToken)
            #expect(try await Self.revoke(ada.refreshToken, auth).status == 200)
            #expect(try await auth.refresh(next).status == 401)
        }
    }

    @Test("Revoking an unknown token succeeds with the same response")
    func unknownTokens() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let known = try await Self.revoke(ada.refreshToken, auth)
            for token in [ada.refreshToken, "nothing", "a.b.c", String(ada.refreshToken.reversed())] {
                let answer = try await Self.revoke(token, auth)
                #expect(answer.status == 200)
                #expect(answer.body == known.body)
            }
            let nothing = try await Self.revoke("", auth)
            #expect(nothing.status == 400)
            #expect(nothing.problem?.field == "token")
            #expect(try await Self.revoke(String(repeating: "x", count: 8_193), auth).status == 400)
        }
    }

    @Test("A service learns whether a token is active, and no other caller does")
    func introspection() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let ada = try await auth.signUp("ada")
            let service = AuthClient(try auth.service.peerClient("photos", callee: "auth"))
            let status = try await service.status(of: ada.jwt)
            #expect(status.active)
            #expect(status.sub == ada.userId)
            #expect(status.clientID == RoostApplication.id)
            #expect(status.exp == Int64(clock.now.timeIntervalSince1970) + 3_600)
            #expect(status.tokenType == "Bearer")
            #expect(try await service.status(of: ada.refreshToken) == .inactive)
            #expect(try await service.status(of: "nothing") == .inactive)

            let body = json(["token": .string(ada.jwt)])
            #expect(try await auth.post("/oauth/introspect", body).status == 403)
            #expect(try await auth.post("/oauth/introspect", body, token: ada.jwt).status == 403)

            _ = try await auth.service.send(.post, "/auth/logout", token: ada.jwt)
            #expect(try await service.status(of: ada.jwt) == .inactive)
            let later = try await auth.signIn("ada")
            clock.advance(seconds: 3_601)
            #expect(try await service.status(of: later.jwt) == .inactive)
        }
    }

    @Test("User info has the standard claims")
    func userInfo() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            _ = try await auth.service.send(
                .patch,
                "/auth/me",
                token: ada.jwt,
                body: json(["fullName": "Ada Lovelace"])
            )
            let answer = try await auth.service.send(.get, "/oauth/userinfo", token: ada.jwt)
            #expect(answer.json["sub"].string == ada.userId)
            #expect(answer.json["preferred_username"].string == "ada")
            #expect(answer.json["name"].string == "Ada Lovelace")
            #expect(answer.json["email"] == .null)
            #expect(answer.json["email_verified"] == .null)
            #expect(answer.headers[.cacheControl] == "no-store")
        }
    }
}
