import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI

/// Puts tokens under the key that seals now, so that one before it can be thrown away.
struct Resealing: Sendable {
    private static let batch = 100

    let database: PostgresPool
    let vault: Vault
    let logger: Logger

    /// - Returns: how many were put under the key, and how many cannot be since theirs is not here.
    func reseal() async throws -> ResealReport {
        let store = AccountStore(db: database)
        var report = ResealReport(resealed: 0, unreadable: 0)
        var last: [String] = []
        while case let found = try await store.sealedOtherwise(than: vault.currentKeyID, after: last, limit: Self.batch),
            let end = found.last
        {
            report.unreadable += found.unreadable
            for record in found.records {
                do {
                    let tokens = try vault.open(record.tokens, of: record.user, on: record.network)
                    try await store.reseal(record, as: vault.seal(tokens, of: record.user, on: record.network))
                    report.resealed += 1
                } catch is Sealer.Failure {
                    report.unreadable += 1
                }
            }
            last = end
        }
        if report.unreadable > 0 {
            logger.error(
                "tokens are sealed with a key that is not here",
                metadata: ["accounts": "\(report.unreadable)"]
            )
        }
        return report
    }

    /// In the background: nobody has to ask for it.
    func round() async throws { _ = try await reseal() }
}
