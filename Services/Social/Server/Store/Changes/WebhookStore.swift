import Foundation
import Postgres
import SocialAPI
import Wire

/// The table `webhook_deliveries`.
struct WebhookStore<Executor: PostgresExecutor> {
    let db: Executor

    func contains(_ hash: Data, of network: Network) async throws -> Bool {
        try await db.first(
            "SELECT FROM webhook_deliveries WHERE network = \(network.rawValue) AND hash = \(hash)",
            as: { _ in true }
        ) ?? false
    }

    func insert(_ hash: Data, of network: Network, now: Date) async throws {
        try await db.run(
            """
            INSERT INTO webhook_deliveries (network, hash, taken_at) VALUES (\(network.rawValue), \(hash), \(now))
            ON CONFLICT DO NOTHING
            """
        )
    }

    func delete(receivedBefore date: Date) async throws {
        try await db.run("DELETE FROM webhook_deliveries WHERE taken_at < \(date)")
    }

    /// Returns the users who have linked an account.
    func owners(of account: String, on network: Network) async throws -> [User.ID] {
        try await db.all(
            "SELECT application_id, user_id FROM accounts WHERE network = \(network.rawValue) AND native_id = \(account)"
        ) { User.ID(application: try $0.string("application_id"), user: try $0.string("user_id")) }
    }
}
