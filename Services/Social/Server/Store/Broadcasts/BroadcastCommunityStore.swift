import Postgres
import SocialAPI
import Wire

/// The table `broadcast_communities`.
struct BroadcastCommunityStore<Executor: PostgresExecutor> {
    let db: Executor

    func all() async throws -> [BroadcastCommunity] {
        try await db.all(
            "SELECT name, icon, is_official FROM broadcast_communities WHERE NOT is_hidden ORDER BY normalized_name",
            as: BroadcastCommunity.init(row:)
        )
    }

    func countOfficial() async throws -> Int {
        try await db.one(
            "SELECT count(*) AS number FROM broadcast_communities WHERE is_official AND NOT is_hidden",
            as: { try $0.int("number") }
        )
    }

    /// Makes a community official and visible; the name is stored as written.
    func add(_ name: String) async throws -> BroadcastCommunity {
        try await db.one(
            """
            INSERT INTO broadcast_communities (normalized_name, name, is_official)
            VALUES (\(NameFolding.fold(name)), \(name), true)
            ON CONFLICT ON CONSTRAINT broadcast_communities_pkey DO UPDATE
            SET name = excluded.name, is_official = true, is_hidden = false
            RETURNING name, icon, is_official
            """,
            as: BroadcastCommunity.init(row:)
        )
    }

    /// Hides a community; returns false if it is not visible.
    func hide(_ name: String) async throws -> Bool {
        try await db.run(
            """
            UPDATE broadcast_communities SET is_official = false, is_hidden = true
            WHERE normalized_name = \(NameFolding.fold(name)) AND NOT is_hidden
            """
        ) == 1
    }

    /// Stores the communities of broadcasts; `communities` must not have duplicates.
    func upsert(_ communities: [BroadcastCommunity]) async throws {
        try await db.run(
            """
            INSERT INTO broadcast_communities AS existing (normalized_name, name, icon)
            SELECT normalized_name, name, icon
            FROM unnest(
                \(communities.map { NameFolding.fold($0.name) }), \(communities.map(\.name)), \(communities.map(\.icon))
            ) AS found (normalized_name, name, icon)
            ON CONFLICT (normalized_name) DO UPDATE SET name = excluded.name, icon = excluded.icon
            WHERE (existing.name, existing.icon) IS DISTINCT FROM (excluded.name, excluded.icon)
            """
        )
    }
}

extension BroadcastCommunity {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            name: try row.string("name"),
            icon: try row.optionalString("icon"),
            official: try row.bool("is_official")
        )
    }
}
