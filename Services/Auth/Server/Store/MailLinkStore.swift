import Foundation
import Postgres

/// The table `mail_links`.
struct MailLinkStore {
    let db: any PostgresExecutor

    /// Keeps a link as long as the mail that it is sent in has not been withdrawn.
    func insert(_ link: MailLink, in mail: UUID, hash: Data, until expiry: Date) async throws {
        try await db.run(
            """
            INSERT INTO mail_links (hash, purpose, user_id, address, expires_at)
            SELECT \(hash), \(link.purpose.rawValue), \(link.account), \(link.address), \(expiry)
            FROM mails WHERE mail_id = \(mail)
            FOR KEY SHARE
            """
        )
    }

    /// The account that a link is for; nil if the link is unknown, used or expired.
    func account(of hash: Data, for purpose: MailLink.Purpose, at now: Date) async throws -> UUID? {
        try await db.first(
            """
            SELECT user_id FROM mail_links
            WHERE hash = \(hash) AND purpose = \(purpose.rawValue) AND expires_at > \(now)
            """
        ) { try $0.uuid("user_id") }
    }

    /// Uses a link up; nil if it is none any more.
    ///
    /// Who uses the same one at the same time waits here until the other's transaction has ended.
    func take(_ hash: Data, for purpose: MailLink.Purpose, at now: Date) async throws -> MailLink? {
        try await db.first(
            """
            DELETE FROM mail_links
            WHERE hash = \(hash) AND purpose = \(purpose.rawValue) AND expires_at > \(now)
            RETURNING user_id, address
            """
        ) { row in
            MailLink(purpose: purpose, account: try row.uuid("user_id"), address: try row.string("address"))
        }
    }

    /// Makes all links of an account worthless, of one purpose or of any.
    func delete(of account: UUID, for purpose: MailLink.Purpose? = nil) async throws {
        try await db.run(
            """
            DELETE FROM mail_links
            WHERE user_id = \(account) AND (\(purpose?.rawValue) IS NULL OR purpose = \(purpose?.rawValue))
            """
        )
    }

    func delete(expiredBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM mail_links WHERE expires_at <= \(date)")
    }
}
