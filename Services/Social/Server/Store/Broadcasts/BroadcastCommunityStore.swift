import Postgres
import SocialAPI
import Wire

/// The table `broadcast_communities`.
struct BroadcastCommunityStore<Executor: PostgresExecutor> {
    let db: Executor

    func all() async throws -> [BroadcastCommunity] {
        try await db.all(
            "SELECT name, icon FROM broadcast_communities ORDER BY folded",
            as: { BroadcastCommunity(name: try $0.string("name"), icon: try $0.optionalString("icon")) }
        )
    }

    /// Notes where broadcasts come from; each but once.
    func note(_ communities: [BroadcastCommunity]) async throws {
        try await db.run(
            """
            INSERT INTO broadcast_communities AS known (folded, name, icon)
            SELECT folded, name, icon
            FROM unnest(
                \(communities.map { NameFolding.fold($0.name) }), \(communities.map(\.name)), \(communities.map(\.icon))
            ) AS found (folded, name, icon)
            ON CONFLICT (folded) DO UPDATE SET name = excluded.name, icon = excluded.icon
            WHERE (known.name, known.icon) IS DISTINCT FROM (excluded.name, excluded.icon)
            """
        )
    }
}
