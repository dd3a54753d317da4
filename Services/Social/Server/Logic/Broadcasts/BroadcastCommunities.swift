import Postgres
import SocialAPI
import Wire

/// The operator's list of official communities, and the communities in which broadcasts were found.
///
/// Every request reads the database, so a change takes effect in all instances immediately.
struct BroadcastCommunities: Sendable {
    /// The allowed lengths of a community's name: a little more than Reddit allows.
    private static let lengths = 2...50
    /// The maximum number of communities in the operator's list.
    private static let maximum = 1_000

    let database: PostgresPool

    /// Returns all communities in the order of their names.
    func list() async throws -> Page<BroadcastCommunity> {
        Page(try await BroadcastCommunityStore(db: database).all())
    }

    /// Adds a community to the list; a community that was only found through a broadcast becomes official.
    ///
    /// - Throws: `invalid_field` for a name that no community can have.
    func add(_ name: String) async throws -> BroadcastCommunity {
        guard Self.lengths.contains(name.utf8.count), name.utf8.allSatisfy(Self.isLetter) else {
            let message = "a community's name has 2 to 50 letters, digits or underscores, without r/"
            throw APIError.invalid("name", message)
        }
        return try await database.transaction { db in
            let store = BroadcastCommunityStore(db: db)
            guard try await store.countOfficial() < Self.maximum else {
                throw APIError(.unprocessable, "too_many", "the list may have at most \(Self.maximum) communities")
            }
            return try await store.add(name)
        }
    }

    /// Removes a community from the list; later broadcasts do not add it again.
    ///
    /// - Throws: `community_not_found` for a community that is not in the list.
    func remove(_ name: String) async throws {
        guard try await BroadcastCommunityStore(db: database).hide(name) else {
            throw APIError(.notFound, "community_not_found", "there is no such community in the list")
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
