import PhotosAPI
import Postgres
import Wire

/// Finds people by the beginning of a name.
struct PeopleSearch: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks

    /// How many are found at most.
    private static let limit = 10
    /// Letters that somebody is found by at least; with one, anybody would be.
    private static let minimumLetters = 2
    private static let maximumQuery = 100

    func find(_ query: String?, by user: User.ID) async throws -> Page<Profile> {
        let beginning = try Self.beginning(query)
        let viewer = try await people.person(for: user)
        let store = ProfileStore(db: database.reads, links: links)
        return Page(
            try await store.found(
                from: beginning,
                // The last character there is: names have none that comes after it.
                to: beginning + "\u{10FFFF}",
                by: viewer,
                limit: Self.limit,
                names: FoundNames.maximumNames
            )
        )
    }

    private static func beginning(_ query: String?) throws -> String {
        guard let query, !query.isEmpty else { throw APIError.missing("query") }
        guard query.unicodeScalars.count <= maximumQuery else {
            throw APIError.invalid("query", "\"query\" may have \(maximumQuery) characters", code: "too_long")
        }
        let beginning = FoundNames.query(query)
        guard beginning.unicodeScalars.count(where: { $0 != " " }) >= minimumLetters else {
            throw APIError.invalid("query", "\"query\" must have \(minimumLetters) letters", code: "too_short")
        }
        return beginning
    }
}
