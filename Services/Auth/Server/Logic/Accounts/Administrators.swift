import AuthAPI
import Foundation
import Logging
import Postgres
import Wire

/// Who may administer the suite: those whom the operator names.
struct Administrators: Sendable {
    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let audit: Audit
    let logger: Logger
    let now: @Sendable () -> Date

    func list() async throws -> Page<Administrator> {
        Page(try await AdministratorStore(db: database.reads).list())
    }

    /// Lets somebody's next tokens say so; those that are out stay as they are.
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

    /// Takes it back at once: the tokens that say so are of sessions that end with it.
    func revoke(_ name: AdministratorName) async throws {
        let id = try await database.transaction { db in
            let id = try await account(name, in: db)
            guard try await AdministratorStore(db: db).delete(id) else {
                throw APIError(.notFound, "administrator_not_found", "this account does not administer the suite")
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

    private static let notFound = APIError(.notFound, "account_not_found", "there is no account of this name")
}
