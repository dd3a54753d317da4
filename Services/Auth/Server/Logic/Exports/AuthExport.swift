import AuthAPI
import Postgres
import ServiceHost
import Wire

/// The export of a user's data in auth, without secrets and values derived from secrets.
struct AuthExport: Sendable {
    private static let limit = 100

    let accounts: Accounts
    let sessions: Sessions
    let identities: Identities
    let passkeys: Passkeys
    let secondFactors: SecondFactors
    let audit: AuditLog
    let applications: Applications

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        try await export.json("account.json", try await accounts.show(user))
        try await export.list("sessions.json") { (cursor: String?) in
            let page = try await sessions.list(of: user, limit: Self.limit, cursor: cursor)
            return (page.items, page.next)
        }
        try await export.json("identities.json", try await identities.list(of: user).items)
        try await export.json("passkeys.json", try await passkeys.list(of: user).items)
        try await export.json("second-factor.json", try await secondFactors.show(user))
        try await export.list("applications.json") { (cursor: String?) in
            let page = try await applications.list(ownedBy: user, limit: Self.limit, cursor: cursor)
            return (page.items, page.next)
        }
        try await export.list("audit.json") { (cursor: String?) in
            let page = try await audit.list(of: user, limit: Self.limit, cursor: cursor)
            return (page.items, page.next)
        }
    }
}
