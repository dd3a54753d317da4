import Foundation
import Postgres

/// The table `email_links`.
struct EmailLinkStore {
    let db: any PostgresExecutor

    /// Inserts a link if its email's row still exists.
    func insert(_ link: EmailLink, in email: UUID, hash: Data, until expiry: Date) async throws {
        try await db.run(
            """
            INSERT INTO email_links (hash, purpose, user_id, address, expires_at)
            SELECT \(hash), \(link.purpose.rawValue), \(link.account), \(link.address), \(expiry)
            FROM emails WHERE email_id = \(email)
            FOR KEY SHARE
            """
        )
    }

    /// Returns the account of a link; nil if the link is unknown, used or expired.
    func account(of hash: Data, for purpose: EmailLink.Purpose, at now: Date) async throws -> UUID? {
        try await db.first(
            """
            SELECT user_id FROM email_links
            WHERE hash = \(hash) AND purpose = \(purpose.rawValue) AND expires_at > \(now)
            """
        ) { try $0.uuid("user_id") }
    }

    /// Consumes a link; returns nil if it is unknown, used or expired.
    ///
    /// A concurrent transaction with the same link waits here until this one ends.
    func consume(_ hash: Data, for purpose: EmailLink.Purpose, at now: Date) async throws -> EmailLink? {
        try await db.first(
            """
            DELETE FROM email_links
            WHERE hash = \(hash) AND purpose = \(purpose.rawValue) AND expires_at > \(now)
            RETURNING user_id, address
            """
        ) { row in
            EmailLink(purpose: purpose, account: try row.uuid("user_id"), address: try row.string("address"))
        }
    }

    func delete(of account: UUID, for purpose: EmailLink.Purpose? = nil) async throws {
        try await db.run(
            """
            DELETE FROM email_links
            WHERE user_id = \(account) AND (\(purpose?.rawValue) IS NULL OR purpose = \(purpose?.rawValue))
            """
        )
    }

    func delete(expiredBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM email_links WHERE expires_at <= \(date)")
    }
}
