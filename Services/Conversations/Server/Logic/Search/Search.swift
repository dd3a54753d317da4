import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The search in a user's conversations for messages that have all words of a query, newest first.
struct Search: Sendable {
    let database: PostgresPool
    let cursors: CursorSigner

    private static let list = "search"
    /// The maximum length of a query in characters, and in words.
    private static let maximumQuery = 255
    private static let maximumTerms = 32
    /// The maximum number of ranges times terms in one statement.
    private static let maximumOperands = 4_096
    /// The maximum time that one request spends on messages that are not indexed yet.
    private static let readingTime = Duration.seconds(2)

    func find(_ query: String?, by user: User.ID, limit: Int, cursor: String?) async throws -> Page<FoundMessage> {
        let terms = try Self.terms(query)
        // A cursor continues only the search that returned it.
        let list = "\(Self.list) \(terms.map { "\($0.word)\($0.isPrefix ? "*" : "")" }.joined(separator: " "))"
        let start = try cursor.map { try cursors.position($0, of: list, for: user, as: SearchHit.self) }
        let store = SearchStore(db: database.reads)

        let marks = try await store.unindexed(of: user)
        var hits: Set<SearchHit> = []
        if !marks.isEmpty {
            let texts = try await store.texts(since: marks, before: start)
            let deadline = ContinuousClock.now + Self.readingTime
            // Messages beyond the deadline are found once they are indexed.
            for (hit, text) in texts where hits.count <= limit && ContinuousClock.now < deadline {
                if try await Self.has(terms, text) { hits.insert(hit) }
            }
        }
        try await addIndexed(to: &hits, terms, by: user, before: start, limit: limit + 1)

        let page = hits.sorted(by: >).prefix(limit)
        // Messages may have been edited since they were indexed.
        var found: [FoundMessage] = []
        for message in try await store.messages(at: Array(page), for: user)
        where try await Self.has(terms, message.message.data) { found.append(message) }
        guard hits.count > limit, let last = page.last else { return Page(found) }
        return Page(found, next: try cursors.sign(last, of: list, for: user))
    }

    /// Reads ranges from the latest backwards, four times as many at each step, until no newer hit can follow.
    private func addIndexed(
        to hits: inout Set<SearchHit>,
        _ terms: [SearchWords.Term],
        by user: User.ID,
        before start: SearchHit?,
        limit: Int
    ) async throws {
        let store = SearchStore(db: database.reads)
        var ranges = try await store.ranges(of: user, before: start?.at)[...]
        var count = 2
        while let next = ranges.first {
            let newer = hits.count { $0.at > next.lastAt }
            guard newer < limit else { return }
            let some = ranges.prefix(count)
            hits.formUnion(try await store.hits(of: terms, in: some, before: start, limit: limit))
            ranges = ranges.dropFirst(count)
            count = min(count * 4, Self.maximumOperands / terms.count)
        }
    }

    private static func terms(_ query: String?) throws -> [SearchWords.Term] {
        guard let query, !query.isEmpty else { throw APIError.missing("q") }
        guard query.unicodeScalars.count <= maximumQuery else {
            throw APIError.invalid("q", "\"q\" may have at most \(maximumQuery) characters", code: "too_long")
        }
        let terms = SearchWords.terms(of: query)
        guard !terms.isEmpty else { throw APIError.invalid("q", "\"q\" must contain a word") }
        guard terms.count <= maximumTerms else {
            throw APIError.invalid("q", "\"q\" may have at most \(maximumTerms) words", code: "too_many_words")
        }
        return terms
    }

    /// Returns whether a text has all terms; throws when the request is cancelled, and yields to other tasks.
    private static func has(_ terms: [SearchWords.Term], _ text: String) async throws -> Bool {
        try Task.checkCancellation()
        let words = SearchWords.words(in: text)
        await Task.yield()
        return terms.allSatisfy { $0.isAmong(words) }
    }
}
