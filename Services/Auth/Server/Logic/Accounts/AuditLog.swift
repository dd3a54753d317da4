import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The paged list of an account's security events, newest first.
struct AuditLog: Sendable {
    let database: PostgresPool
    let cursors: CursorSigner

    func list(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<SecurityEvent> {
        guard user.isRoostUser else { throw Accounts.externalAccount }
        guard let account = user.accountID else { throw Accounts.accountNotFound }
        let before = try cursor.map { cursor in
            try cursors.position(cursor, of: SecurityEvent.pluralName, for: user, as: Cursor.self).entry
        }
        let found = try await AuditStore(db: database.reads).list(of: account, before: before, limit: limit + 1)
        let shown = found.prefix(limit)
        let last = found.count > limit ? shown.last.map { Cursor(entry: $0.id) } : nil
        let next = try last.map { try cursors.sign($0, of: SecurityEvent.pluralName, for: user) }
        return Page(shown.map(\.event), next: next)
    }
}

private struct Cursor: Codable {
    var entry: Int64
}
