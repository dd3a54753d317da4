import AuthAPI
import Credentials
import Foundation
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Administrators") struct AdministratorTests {
    @Test("The right to administer is granted at the next token, and revoked at once")
    func grantAndRevoke() async throws {
        try await withAuth(settings: ["APPLICATIONS_OPEN": "0"]) { auth in
            let ada = try await auth.signUp("Ada")
            let apply = { (jwt: String) in
                try await auth.post("/applications", #"{"name": "Acme"}"#, token: jwt).status
            }
            #expect(try await apply(ada.jwt) == 403)

            let granted = try await auth.asOperator.grantAdministration(to: "ADA")
            #expect(granted.userId == ada.userId)
            #expect(granted.username == "Ada")
            #expect(try await auth.asOperator.administrators().map(\.userId) == [ada.userId])
            #expect(try await apply(ada.jwt) == 403)
            let refreshed = try await auth.refresh(ada.refreshToken).decode(SignIn.self)
            #expect(try await apply(refreshed.jwt) == 200)
            #expect(try await apply(try await auth.signIn("Ada").jwt) == 200)

            _ = try await auth.asOperator.revokeAdministration(of: "ada")
            #expect(try await apply(refreshed.jwt) == 403)
            #expect(try await auth.me(refreshed.jwt).status == 403)
            #expect(try await apply(try await auth.signIn("Ada").jwt) == 403)
            #expect(try await auth.asOperator.administrators().isEmpty)
        }
    }

    @Test("Granting or revoking needs an existing account")
    func unknownAccount() async throws {
        try await withAuth { auth in
            _ = try await auth.register("ada")
            for (name, code) in [("bo", "account_not_found"), ("", "missing_field")] {
                do {
                    _ = try await auth.asOperator.grantAdministration(to: name)
                    Issue.record("granted to \(name)")
                } catch let error as APIError {
                    #expect(error.code == code)
                }
            }
            await #expect(throws: APIError.self) { try await auth.asOperator.revokeAdministration(of: "ada") }
        }
    }

    @Test("Only the operator manages administrators")
    func operatorOnly() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let other = AuthClient(try auth.service.peerClient("conversations", callee: "auth"))
            for attempt in [
                { _ = try await other.grantAdministration(to: "ada") },
                { _ = try await other.revokeAdministration(of: "ada") },
                { _ = try await other.administrators() },
            ] {
                do {
                    try await attempt()
                    Issue.record("another service did it")
                } catch let error as APIError {
                    #expect(error.code == "caller_not_allowed")
                }
            }
            let answer = try await auth.post("/internal/administrators/grant", #"{"username": "ada"}"#, token: ada.jwt)
            #expect(answer.status == 403)
        }
    }
}
