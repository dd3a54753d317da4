import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Invalid input of the routes for addresses, passwords, second factors and passkeys.
@Suite("Invalid credentials in requests", .timeLimit(.minutes(5))) struct CredentialInputTests {
    private static let long = String(repeating: "x", count: 129)

    private static let signedIn: [BadRequest] =
        ["null", "7", #""""#, #""x""#, #""x@""#, #""x y@z""#, #""a\u0000@b""#].map {
            BadRequest(.post, "/auth/email", #"{"email": \#($0)}"#, 400, "email")
        }
        + [
            BadRequest(.post, "/auth/email", "{}", 400, "email"),
            BadRequest(.post, "/auth/email", #"{"email": "x@y", "password": 7}"#, 400, "password"),
            BadRequest(.post, "/auth/email", #"{"email": "x@y", "password": "\#(long)"}"#, 400, "password"),
            BadRequest(.post, "/auth/password", #"{"currentPassword": "x"}"#, 400, "newPassword"),
            BadRequest(.post, "/auth/password", #"{"newPassword": "long enough"}"#, 400, "currentPassword"),
            BadRequest(
                .post,
                "/auth/password",
                #"{"currentPassword": "", "newPassword": "long enough"}"#,
                400,
                "currentPassword"
            ),
            BadRequest(
                .post,
                "/auth/password",
                #"{"currentPassword": "\#(long)", "newPassword": "long enough"}"#,
                400,
                "currentPassword"
            ),
            BadRequest(.post, "/auth/mfa/totp", #"{"password": []}"#, 400, "password"),
            BadRequest(.post, "/auth/mfa/totp/confirm", "{}", 400, "code"),
            BadRequest(.post, "/auth/mfa/totp/confirm", #"{"code": ""}"#, 400, "code"),
            BadRequest(.post, "/auth/mfa/totp/confirm", #"{"code": 123456}"#, 400, "code"),
            BadRequest(.post, "/auth/mfa/totp/confirm", #"{"code": "\#(long)"}"#, 400, "code"),
            BadRequest(.delete, "/auth/mfa/totp", #"{"code": ""}"#, 400, "code"),
            BadRequest(.delete, "/auth/mfa/totp", #"{"code": "123456"}"#, 404, nil),
            BadRequest(.post, "/auth/passkeys/options", #"{"password": 7}"#, 400, "password"),
            BadRequest(.post, "/auth/passkeys", #"{"id": 7}"#, 400, "id"),
        ]
        + ["\"short77\"", "\"\(long)\"", "7", "null", #""""#, #""12345678\u0000""#].map {
            BadRequest(
                .post,
                "/auth/password",
                #"{"currentPassword": "\#(Auth.password)", "newPassword": \#($0)}"#,
                400,
                "newPassword"
            )
        }

    private static let open: [BadRequest] = [
        BadRequest(.post, "/auth/password/forgot", "{}", 400, "email"),
        BadRequest(.post, "/auth/password/forgot", #"{"email": "x"}"#, 400, "email"),
        BadRequest(.post, "/auth/email/resend", "{}", 400, "email"),
        BadRequest(.post, "/auth/email/resend", #"{"email": "x"}"#, 400, "email"),
        BadRequest(.post, "/auth/password/reset", #"{"newPassword": "long enough"}"#, 400, "token"),
        BadRequest(.post, "/auth/password/reset", #"{"token": "", "newPassword": "long enough"}"#, 400, "token"),
        BadRequest(.post, "/auth/password/reset", #"{"token": "\#(long)", "newPassword": "enough 8"}"#, 400, "token"),
        BadRequest(.post, "/auth/email/verify", #"{"token": []}"#, 400, "token"),
        BadRequest(.post, "/auth/login/mfa", #"{"code": "123456"}"#, 400, "challenge"),
        BadRequest(.post, "/auth/login/mfa", #"{"challenge": "x", "code": ""}"#, 400, "code"),
        BadRequest(.post, "/auth/login/mfa", #"{"challenge": "", "code": "123456"}"#, 400, "challenge"),
        BadRequest(.post, "/auth/login/mfa", #"{"challenge": "\#(long)", "code": "123456"}"#, 401, nil),
        BadRequest(.post, "/auth/login/mfa", #"{"challenge": "x", "code": "123456"}"#, 401, nil),
        BadRequest(.post, "/auth/login/passkey", #"{"id": "AA", "rawId": "=", "type": "x"}"#, 400, "rawId"),
    ]

    @Test("An invalid field is refused by name, and changes nothing")
    func invalidInputs() async throws {
        try await withMail { fixture in
            let ada = try await fixture.auth.signUp("ada")
            let service = fixture.auth.service
            func check(_ all: [BadRequest], token: String?) async throws {
                for bad in all {
                    let answer = try await service.send(bad.method, bad.path, token: token, body: bad.body)
                    #expect(answer.status == bad.status, "\(bad.testDescription): \(answer.text)")
                    #expect(answer.problem?.field == bad.field, "\(bad.testDescription): \(answer.text)")
                }
            }
            try await check(Self.signedIn, token: ada.jwt)
            try await check(Self.open, token: nil)
            // Nothing changed, and no mail was sent.
            #expect(try await fixture.auth.login("ada").status == 200)
            for table in ["emails", "email_links", "totp_factors", "passkeys", "login_challenges"] {
                let count = try await service.database.pool.one("SELECT count(*) AS rows FROM \(unsafe: table)") {
                    try $0.int("rows")
                }
                #expect(count == 0, "\(table)")
            }
        }
    }

    @Test("Routes that change credentials need a valid token")
    func missingCredential() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            for path in ["/auth/email", "/auth/password", "/auth/mfa/totp", "/auth/passkeys/options"] {
                #expect(try await auth.service.send(.post, path).status == 403)
                #expect(try await auth.service.send(.post, path, token: "\(ada.jwt)x").status == 403)
            }
        }
    }
}
