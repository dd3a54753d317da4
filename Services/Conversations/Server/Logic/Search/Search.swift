import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// Finds what was said in somebody's conversations: messages that have all the words, newest first.
struct Search: Sendable {
    let database: PostgresPool
    let cursors: CursorSigner

    private static let list = "search"
    /// In characters, and in words.
    private static let maximumQuery = 255
    private static let maximumTerms = 32
    /// How many ranges times terms are asked for at once.
    private static let maximumOperands = 4_096
    /// How long one request reads messages that are not indexed yet.
    private static let readingTime = Duration.seconds(2)

    func find(_ query: String?, by user: User.ID, limit: Int, cursor: String?) async throws -> Page<FoundMessage> {
        let terms = try Self.terms(query)
        // A cursor goes on with the search it came from.
        let list = "\(Self.list) \(terms.map { "\($0.word)\($0.isPrefix ? "*" : "")" }.joined(separator: " "))"
        let start = try cursor.map { try cursors.position($0, of: list, for: user, as: SearchHit.self) }
        let store = SearchStore(db: database.reads)

        let marks = try await store.unindexed(of: user)
        var hits: Set<SearchHit> = []
        if !marks.isEmpty {
            let texts = try await store.texts(since: marks, before: start)
            let deadline = ContinuousClock.now + Self.readingTime
            // What the time does not suffice for is found once it is indexed.
            for (hit, text) in texts where hits.count <= limit && ContinuousClock.now < deadline {
                if try await Self.has(terms, text) { hits.insert(hit) }
            }
        }
        try await addIndexed(to: &hits, terms, by: user, before: start, limit: limit + 1)

        let page = hits.sorted(by: >).prefix(limit)
        // Some may have been edited since they were indexed.
        var found: [FoundMessage] = []
        for message in try await store.messages(at: Array(page), for: user)
        where try await Self.has(terms, message.message.data) { found.append(message) }
        guard hits.count > limit, let last = page.last else { return Page(found) }
        return Page(found, next: try cursors.sign(last, of: list, for: user))
    }

    /// Goes from the latest ranges back, and the farther the more at once, until nothing newer can come.
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
            throw APIError.invalid("q", "\"q\" may have \(maximumQuery) characters", code: "too_long")
        }
        let terms = SearchWords.terms(of: query)
        guard !terms.isEmpty else { throw APIError.invalid("q", "\"q\" has no word to look for") }
        guard terms.count <= maximumTerms else {
            throw APIError.invalid("q", "\"q\" may have \(maximumTerms) words", code: "too_many_words")
        }
        return terms
    }

    /// Ends with the request, and lets others run in between.
    private static func has(_ terms: [SearchWords.Term], _ text: String) async throws -> Bool {
        try Task.checkCancellation()
        let words = SearchWords.words(in: text)
        await Task.yield()
        return terms.allSatisfy { $0.isAmong(words) }
    }
}
