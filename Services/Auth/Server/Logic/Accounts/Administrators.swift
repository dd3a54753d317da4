import AuthAPI
import Foundation
import Logging
import Postgres
import Wire

/// The rights to administer the suite, which the operator grants and revokes.
struct Administrators: Sendable {
    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let audit: Audit
    let logger: Logger
    let now: @Sendable () -> Date

    func list() async throws -> Page<Administrator> {
        Page(try await AdministratorStore(db: database.reads).list())
    }

    /// Grants the right, which the user's next tokens contain; tokens issued before do not change.
    func grant(_ name: AdministratorName) async throws -> Administrator {
        let granted = try await database.transaction { db in
            let store = AdministratorStore(db: db)
            let id = try await account(name, in: db)
            try await store.insert(id, at: now())
            try await audit.record(.administrationGranted, of: id, in: db)
            return try await store.list().first { $0.userId == id.wire }
        }
        guard let granted else { throw Self.notFound }
        logger.notice("administration granted", metadata: ["user": "\(granted.userId)"])
        return granted
    }

    /// Revokes the right at once: all sessions of the user end, and with them the tokens that contain the right.
    func revoke(_ name: AdministratorName) async throws {
        let id = try await database.transaction { db in
            let id = try await account(name, in: db)
            guard try await AdministratorStore(db: db).delete(id) else {
                throw APIError(.notFound, "administrator_not_found", "this account has no administrator rights")
            }
            try await audit.record(.administrationRevoked, of: id, in: db)
            try await sessionRevocations.endAll(of: User.ID(application: RoostApplication.id, user: id.wire), in: db)
            return id
        }
        logger.notice("administration revoked", metadata: ["user": "\(id.wire)"])
    }

    private func account(_ name: AdministratorName, in db: any PostgresExecutor) async throws -> UUID {
        guard !name.username.isEmpty else { throw APIError.missing("username") }
        guard let id = try await AccountStore(db: db).id(named: NameFolding.fold(name.username)) else {
            throw Self.notFound
        }
        return id
    }

    private static let notFound = APIError(
        .notFound,
        "account_not_found",
        "no account has this username or verified e-mail address"
    )
}
