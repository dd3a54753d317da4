import AuthAPI
import Foundation
import Postgres
import Wire

/// The operator's view of accounts, which are identified by id, username or verified e-mail address.
struct AccountReports: Sendable {
    let database: PostgresPool

    func list(named prefix: String?, after: String?, limit: Int) async throws -> Page<AccountReport> {
        let found = try await AccountReportStore(db: database.reads)
            .list(named: NameFolding.fold(prefix ?? ""), after: after, limit: limit + 1)
        let shown = found.prefix(limit)
        return Page(shown.map(\.1), next: found.count > limit ? shown.last?.name : nil)
    }

    func show(_ name: String) async throws -> AccountReport {
        guard let report = try await AccountReportStore(db: database.reads).find(try await id(of: name)) else {
            throw Self.notFound
        }
        return report
    }

    /// - Throws: `account_not_found` if no account has this id, username or verified address.
    func id(of name: String) async throws -> UUID {
        // A username may look like an id. Ids take precedence, because users cannot choose them.
        let accounts = AccountStore(db: database.reads)
        if let id = UUID(uuidString: name), try await accounts.find(id) != nil { return id }
        guard let id = try await accounts.id(named: NameFolding.fold(name)) else { throw Self.notFound }
        return id
    }

    private static let notFound = APIError(
        .notFound,
        "account_not_found",
        "no account has this id, username or verified e-mail address"
    )
}
