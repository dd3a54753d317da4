import AuthAPI
import Foundation
import Testing

@testable import roost

@Suite("Output of roost admin") struct AdminOutputTests {
    private static let now = Date(timeIntervalSince1970: 1_795_262_400)

    private static let ada = AccountReport(
        userId: "0b0e2a5e-0000-4000-8000-000000000001",
        username: "ada",
        fullName: nil,
        email: "ada@example.com",
        emailVerified: false,
        isAnonymous: false,
        isAdministrator: true,
        createdAt: now,
        disabledAt: now,
        sessions: 2,
        lastSeenAt: nil
    )

    @Test("Accounts are printed as a table; without accounts, a message is printed")
    func accountTable() {
        let lines = AdminOutput.accounts([Self.ada]).split(separator: "\n").map(String.init)
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("USER                                  NAME  E-MAIL           "))
        #expect(lines[1].hasPrefix("\(Self.ada.userId)  ada   ada@example.com  disabled since "))
        #expect(lines[1].hasSuffix("Z, administrator  2        -"))
        #expect(AdminOutput.accounts([]) == "no accounts\n")
    }

    @Test("Applications are listed with their owners")
    func applications() {
        func application(_ name: String, owner: String?) -> CustomerApplication {
            CustomerApplication(
                applicationId: "id",
                name: name,
                applicationKey: "key",
                owner: owner,
                createdAt: Self.now,
                keys: [EncryptionKey(encryptionKeyId: "k", createdAt: Self.now, revokedAt: nil)]
            )
        }
        let lines = AdminOutput.applications([application("Acme", owner: "ada's id"), application("Own", owner: nil)])
            .split(separator: "\n")
        #expect(lines[0].hasSuffix("OWNER"))
        #expect(lines[1].hasSuffix("ada's id"))
        #expect(lines[2].hasSuffix("-"))
    }

    @Test("An email address that is not verified is marked as such")
    func unverifiedEmail() {
        #expect(AdminOutput.account(Self.ada).contains("e-mail     ada@example.com (not verified)\n"))
    }

    @Test("A pending deletion names the services that have not confirmed")
    func pendingDeletion() {
        func deletionJob(_ services: [String]) -> PendingDeletion {
            PendingDeletion(deletionId: "d", startedAt: Self.now, round: 1, pendingServices: services)
        }
        let lines = AdminOutput.deletions([deletionJob(["photos", "push"]), deletionJob([])])
        #expect(lines.contains("photos, push\n"))
        #expect(lines.contains("the second pass, which starts soon\n"))
    }
}
