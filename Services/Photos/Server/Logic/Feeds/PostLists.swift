import Foundation
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The lists of posts other than the home feed: of an application, of a hashtag and of a user.
struct PostLists: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner

    private static let foundTags = 10

    func general(for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Post> {
        try await feed("photos.posts", for: user, limit: limit, cursor: cursor) { viewer, last in
            try await store.page(of: user.application, for: viewer, after: last, limit: limit + 1)
        }
    }

    func tagged(_ word: String, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Post> {
        guard let tag = HashtagText.fold(word) else {
            throw APIError.invalid("tag", "\"tag\" must be a hashtag", code: "invalid_hashtag")
        }
        return try await feed("photos.hashtag:\(tag)", for: user, limit: limit, cursor: cursor) { viewer, last in
            try await store.page(tagged: tag, of: user.application, for: viewer, after: last, limit: limit + 1)
        }
    }

    func posts(of name: String, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Post> {
        let viewer = try await people.person(for: user)
        let author = try await people.find(name, for: viewer)
        let list = "photos.person:\(author.id)"
        let last = try cursor.map { try cursors.position($0, of: list, for: user, as: Int64.self) }
        let keys = try await store.page(by: author.id, for: viewer.id, before: last, limit: limit + 1)
        let next = try keys.count > limit ? cursors.sign(keys[limit - 1].number, of: list, for: user) : nil
        return Page(try await store.summaries(of: Array(keys.prefix(limit)), for: viewer.id), next: next)
    }

    func search(_ query: String?, for user: User.ID) async throws -> Page<Hashtag> {
        guard let query, !query.isEmpty else { throw APIError.missing("query") }
        guard let prefix = HashtagText.foldPrefix(query) else {
            throw APIError.invalid("query", "\"query\" must be a prefix of a hashtag", code: "invalid_hashtag")
        }
        let viewer = try await people.person(for: user)
        let store = HashtagStore(db: database.reads)
        return Page(try await store.search(prefix, in: user.application, for: viewer.id, limit: Self.foundTags))
    }

    /// Returns a page of the posts whose positions `read` returns, with the cursor of the next page.
    ///
    /// A post that is deleted between the two statements is missing, so the page is shorter; the cursor stays valid.
    private func feed(
        _ list: String,
        for user: User.ID,
        limit: Int,
        cursor: String?,
        _ read: (Person.ID, FeedPosition?) async throws -> [FeedPosition]
    ) async throws -> Page<Post> {
        let last = try cursor.map { try cursors.position($0, of: list, for: user, as: FeedPosition.self) }
        let viewer = try await people.person(for: user)
        let found = try await read(viewer.id, last)
        let next = try found.count > limit ? cursors.sign(found[limit - 1], of: list, for: user) : nil
        return Page(try await store.summaries(of: found.prefix(limit).map(\.key), for: viewer.id), next: next)
    }

    private var store: PostStore<PostgresReads> { PostStore(db: database.reads, links: links) }
}
