import AuthAPI
import Foundation
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The routes for `roost admin`.
@Suite("Operator commands") struct OperatorTests {
    @Test("A disabled account cannot sign in or use its tokens until it is enabled again")
    func disable() async throws {
        try await withAuth { auth in
            let (ada, roost) = (try await auth.signUp("ada"), try auth.asOperator)
            _ = try await roost.disable("ADA")
            _ = try await roost.disable("ada")

            #expect(try await auth.me(ada.jwt).status == 403)
            #expect(try await auth.refresh(ada.refreshToken).status == 401)
            let refused = try await auth.login("ada")
            #expect(refused.status == 403)
            #expect(refused.problem?.code == "account_disabled")
            // A client without the password does not learn that the account is disabled.
            #expect(try await auth.login("ada", password: "wrong, of course").status == 401)
            #expect(try await roost.account("ada").disabledAt != nil)

            _ = try await roost.enable("ada")
            #expect(try await auth.login("ada").status == 200)
            let kinds = try await roost.audit(of: ada.userId).items.map(\.kind)
            #expect(kinds.filter { $0.hasPrefix("account.") } == ["account.enabled", "account.disabled"])
        }
    }

    @Test("Sign-ins while an account is disabled leave no session")
    func concurrentSignIns() async throws {
        try await withAuth { auth in
            let (ada, roost) = (try await auth.signUp("ada"), try auth.asOperator)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 { group.addTask { _ = try await auth.login("ada") } }
                group.addTask { _ = try await roost.disable("ada") }
                try await group.waitForAll()
            }
            #expect(try await roost.account(ada.userId).sessions == 0)
        }
    }

    @Test("Accounts are found by the start of the name, page by page, without anonymous ones")
    func findByPrefix() async throws {
        try await withAuth { auth in
            let roost = try auth.asOperator
            for name in ["anna", "Annabel", "ann%", "bo"] { _ = try await auth.register(name) }
            _ = try await auth.anonymous()

            #expect(try await roost.accounts(named: "ANN").items.map(\.username) == ["ann%", "anna", "Annabel"])
            #expect(try await roost.accounts(named: "ann%").items.map(\.username) == ["ann%"])
            let first = try await roost.accounts(named: "", limit: 2)
            let rest = try await roost.accounts(named: "", after: first.next, limit: 2)
            #expect((first.items + rest.items).map(\.username) == ["ann%", "anna", "Annabel", "bo"])
            #expect(rest.next == nil)
        }
    }

    @Test("An account is shown by name or id in any case")
    func show() async throws {
        try await withAuth { auth in
            let (ada, roost) = (try await auth.signUp("ada", device: "phone"), try auth.asOperator)
            _ = try await roost.grantAdministration(to: "ada")
            for name in ["ada", "ADA", ada.userId, ada.userId.uppercased()] {
                let report = try await roost.account(name)
                #expect(report.userId == ada.userId)
                #expect(report.isAdministrator)
                #expect(report.sessions == 1)
            }
            let notFound = "no account has this id, username or verified e-mail address"
            await #expect(throws: APIError(.notFound, "account_not_found", notFound)) {
                try await roost.account("nobody")
            }
        }
    }

    @Test("Ends one session or all sessions of an account")
    func sessions() async throws {
        try await withAuth { auth in
            let (ada, roost) = (try await auth.signUp("ada", device: "phone"), try auth.asOperator)
            let laptop = try await auth.signIn("ada", device: "laptop")
            let bo = try await auth.signUp("bo")
            let sessions = try await roost.sessions(of: "ada")
            #expect(sessions.map(\.deviceId) == ["laptop", "phone"])

            _ = try await roost.endSessions(of: "ada", session: sessions[0].id)
            #expect(try await auth.me(laptop.jwt).status == 403)
            #expect(try await auth.me(ada.jwt).status == 200)
            await #expect(throws: APIError.self) { try await roost.endSessions(of: "bo", session: sessions[1].id) }
            _ = try await roost.endSessions(of: "ada")
            #expect(try await auth.me(ada.jwt).status == 403)
            #expect(try await auth.me(bo.jwt).status == 200)
        }
    }

    @Test("The operator deletes an account without its password")
    func deleteAccount() async throws {
        try await withAuth { auth in
            let (ada, roost) = (try await auth.signUp("ada"), try auth.asOperator)
            _ = try await roost.deleteAccount("ada")
            #expect(try await auth.me(ada.jwt).status == 403)
            await #expect(throws: APIError.self) { try await roost.account(ada.userId) }
        }
    }

    @Test("Keys rotate, and all applications are listed")
    func keysAndApplications() async throws {
        try await withAuth { auth in
            let roost = try auth.asOperator
            let before = try await roost.keys()
            let rotated = try await roost.rotateKeys()
            #expect(rotated.current == before.standby)
            #expect(rotated.previous == [before.current])
            let after = try await roost.keys()
            #expect(after == rotated)
            let acme = try await auth.customer(by: try await auth.administrator().jwt)
            #expect(try await roost.applications().items.map(\.applicationId) == [acme.id])
        }
    }

    @Test("Another service may use none of the operator's routes")
    func operatorOnly() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let photos = AuthClient(try auth.service.peerClient("photos", callee: "auth"))
            let tries: [@Sendable () async throws -> Void] = [
                { _ = try await photos.accounts(named: "") }, { _ = try await photos.account("ada") },
                { _ = try await photos.disable("ada") }, { _ = try await photos.enable("ada") },
                { _ = try await photos.deleteAccount("ada") }, { _ = try await photos.sessions(of: "ada") },
                { _ = try await photos.endSessions(of: "ada") }, { _ = try await photos.audit(of: "ada") },
                { _ = try await photos.endSessions(of: "ada", session: "x") }, { _ = try await photos.keys() },
                { _ = try await photos.applications() }, { _ = try await photos.deletions() },
            ]
            for attempt in tries {
                await #expect {
                    try await attempt()
                } throws: { error in
                    (error as? APIError)?.code == "caller_not_allowed"
                }
            }
            #expect(try await auth.me(ada.jwt).status == 200)
        }
    }
}
