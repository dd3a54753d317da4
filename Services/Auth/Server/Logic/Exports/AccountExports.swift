import AuthAPI
import Foundation
import NIOCore
import Postgres
import ServiceClient
import ServiceHost
import Wire

/// One archive of everything that the suite keeps of somebody: auth's own records, and what each service has that is told of
/// deleted people, for those are the ones that keep something.
///
/// It is written while it is sent, and nothing of it is held. Where a service breaks off the archive does too, and no program
/// takes it for whole.
struct AccountExports: Sendable {
    /// A service that is asked; its folder in the archive has its name.
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

    /// Notes that somebody takes everything with him.
    ///
    /// - Throws: a 403 for a customer's person, a 429 where he is having one made, a 503 where too many are made at once.
    func begin(_ user: User.ID, from caller: ClientInfo) async throws -> ExportLimit.Slot {
        guard user.isRoostUser else { throw Accounts.externalAccount }
        guard let account = user.accountID else { throw Accounts.accountNotFound }
        let slot = try exportLimit.take(user)
        try await audit.record(.exported, of: account, by: caller, in: database)
        return slot
    }

    /// Hands on the archive as it is made.
    func write(_ user: User.ID, _ send: @escaping (ByteBuffer) async throws -> Void) async throws {
        let archive = ExportArchive(at: now(), send)
        try await own.export(of: user) { try await archive.take($0, below: "account") }
        for source in sources {
            try await source.client.export(of: user) { try await archive.take($0, below: source.name) }
        }
        try await archive.finish()
    }
}
