import Postgres
import SocialAPI
import Wire

/// The operator's list of official communities, and the communities that broadcasts were seen to come from.
///
/// Every request reads the database, so that a change is effective in all instances at once.
struct BroadcastCommunities: Sendable {
    /// As long as names of communities on Reddit may be, and somewhat longer.
    private static let lengths = 2...50
    /// How many communities the operator may list.
    private static let maximum = 1_000

    let database: PostgresPool

    /// Returns all communities in the order of their names.
    func list() async throws -> Page<BroadcastCommunity> {
        Page(try await BroadcastCommunityStore(db: database).all())
    }

    /// Adds a community to the list; one that is there becomes official.
    ///
    /// - Throws: `invalid_field` for a name that no community can have.
    func add(_ name: String) async throws -> BroadcastCommunity {
        guard Self.lengths.contains(name.utf8.count), name.utf8.allSatisfy(Self.isLetter) else {
            let message = "A community's name has 2 to 50 letters, digits or underscores, without r/ before it."
            throw APIError.invalid("name", message)
        }
        return try await database.transaction { db in
            let store = BroadcastCommunityStore(db: db)
            guard try await store.countOfficial() < Self.maximum else {
                throw APIError(.unprocessable, "too_many", "The list has at most \(Self.maximum) communities.")
            }
            return try await store.add(name)
        }
    }

    /// Removes a community; broadcasts from there do not bring it back.
    ///
    /// - Throws: `community_not_found` for a community that is not listed.
    func remove(_ name: String) async throws {
        guard try await BroadcastCommunityStore(db: database).hide(name) else {
            throw APIError(.notFound, "community_not_found", "There is no such community in the list.")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
