import PhotosAPI
import Postgres
import Wire

/// Finds users by the words of their names.
///
/// Each word of the query is a prefix of a word of the name, in any order.
struct PeopleSearch: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks

    private static let limit = 10
    /// The minimum length of a query, in characters; a single letter would match too many users.
    private static let minimumCharacters = 2
    private static let maximumQuery = 100

    func find(_ query: String?, by user: User.ID) async throws -> Page<Profile> {
        let words = try Self.words(of: query)
        let viewer = try await people.person(for: user)
        let store = ProfileStore(db: database.reads, links: links)
        return Page(try await store.found(by: words, for: viewer, limit: Self.limit, names: SearchNames.maximumNames))
    }

    private static func words(of query: String?) throws -> [String] {
        guard let query, !query.isEmpty else { throw APIError.missing("query") }
        guard query.unicodeScalars.count <= maximumQuery else {
            throw APIError.invalid("query", "\"query\" must have at most \(maximumQuery) characters", code: "too_long")
        }
        let words = SearchNames.query(query)
        guard words.reduce(0, { $0 + $1.unicodeScalars.count }) >= minimumCharacters else {
            let message = "\"query\" must have at least \(minimumCharacters) letters"
            throw APIError.invalid("query", message, code: "too_short")
        }
        return words
    }
}
