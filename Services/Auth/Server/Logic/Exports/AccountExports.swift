import AuthAPI
import Foundation
import NIOCore
import Postgres
import ServiceClient
import ServiceHost
import Wire

/// The export of a user's data from all services as one archive.
///
/// It contains auth's own records and those of every subscriber of `UserDeleted`, because exactly these services store
/// user data. The archive is streamed and never stored. If a service fails, the archive ends early and every ZIP reader
/// rejects it as incomplete.
struct AccountExports: Sendable {
    /// A service whose data is exported, into an archive folder of the same name.
    struct Source: Sendable {
        var name: String
        var client: ServiceClient
    }

    let database: PostgresPool
    let own: Exports
    let sources: [Source]
    let audit: Audit
    let exportLimit: ExportLimit
    let now: @Sendable () -> Date

    /// Records the export and reserves a slot for it.
    ///
    /// - Throws: a 403 for a user of a customer's application, a 429 while the user's export is running, a 503 while
    ///   all slots are in use.
    func begin(_ user: User.ID, from caller: ClientInfo) async throws -> ExportLimit.Slot {
        guard user.isRoostUser else { throw Accounts.externalAccount }
        guard let account = user.accountID else { throw Accounts.accountNotFound }
        let slot = try exportLimit.take(user)
        try await audit.record(.exported, of: account, by: caller, in: database)
        return slot
    }

    func write(_ user: User.ID, _ send: @escaping (ByteBuffer) async throws -> Void) async throws {
        let archive = ExportArchive(at: now(), send)
        try await own.export(of: user) { try await archive.append($0, below: "account") }
        for source in sources {
            try await source.client.export(of: user) { try await archive.append($0, below: source.name) }
        }
        try await archive.finish()
    }
}
