import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The home feed: the user's own posts and those of followed users, newest first.
///
/// The feed is built on read. The cost of posting does not depend on the number of followers, and inactive users cost
/// nothing. A read first copies the posts that are newer than the previous read into `feed`, whose primary key is in
/// feed order.
struct HomeFeed: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner
    /// The number of followers from which an author's posts are merged on read instead of being copied.
    let mergeThreshold: Int

    private static let list = "home"
    static let copyBatchSize: Int64 = 10_000
    /// How many of these transactions one request runs; the next request copies the rest.
    static let maximumCopiesPerRequest = 10
    /// The factor by which the next read grows if too few entries were visible.
    private static let growthFactor = 8
    private static let maximumEntries = 10_000

    func page(for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Post> {
        let owner = try await people.person(for: user)
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: user, as: FeedPosition.self) }
        let found = try await positions(of: owner, after: last ?? .beforeAll, limit: limit + 1)
        let page = found.prefix(limit)
        let posts = PostStore(db: database.reads, links: links)
        let shown = try await posts.summaries(of: page.map(\.key), for: owner.id)
        guard found.count > limit, let end = page.last else { return Page(shown) }
        return Page(shown, next: try cursors.sign(end, of: Self.list, for: user))
    }

    private func positions(of owner: Person, after last: FeedPosition, limit: Int) async throws -> [FeedPosition] {
        let store = HomeFeedStore(db: database.reads)
        var (found, last, width): ([FeedPosition], FeedPosition, Int) = ([], last, limit)
        var read = try await store.entries(of: owner.id, after: last, limit: width)
        if read.isBehind {
            try await copyNewPosts(owner)
            // Posts created after this point are newer than the request and may be missing.
            read = try await store.entries(of: owner.id, after: last, limit: width)
        }
        while true {
            try await remove(read.entries.filter { $0.state == .deleted }.map(\.position), of: owner.id)
            found += read.entries.filter { $0.state == .visible }.map(\.position)
            guard found.count < limit, read.entries.count == width, let end = read.entries.last else {
                return Array(found.prefix(limit))
            }
            (last, width) = (end.position, min(width * Self.growthFactor, Self.maximumEntries))
            read = try await store.entries(of: owner.id, after: last, limit: width)
        }
    }

    /// Copies the new posts of followed users, in batches.
    ///
    /// - Throws: `unavailable` if there are more posts than one request copies; the next request continues.
    private func copyNewPosts(_ owner: Person) async throws {
        for _ in 0..<Self.maximumCopiesPerRequest {
            let isDone = try await database.transaction { db in
                let store = FeedStore(db: db)
                var gaps = try await store.lockGaps(of: owner.id, mergeThreshold: mergeThreshold)
                let authors = gaps.filter(\.isPopular).map(\.author)
                if !authors.isEmpty {
                    let merged = try await store.merge(authors, of: owner.id, upTo: Follows.maximumMergedAuthors)
                    gaps.removeAll { merged.contains($0.author) }
                }
                let batch = Self.firstPart(of: gaps)
                if !batch.isEmpty { try await store.copyPosts(batch, of: owner) }
                return batch.map(\.last) == gaps.map(\.last)
            }
            if isDone { return }
        }
        throw APIError.unavailable("the home feed")
    }

    /// Removes entries of deleted posts, which are found when the feed is read.
    private func remove(_ deleted: [FeedPosition], of owner: Person.ID) async throws {
        guard !deleted.isEmpty else { return }
        try await database.transaction { db in try await FeedStore(db: db).delete(deleted, of: owner) }
    }

    /// Returns as many gaps as one transaction copies; the last one may be cut.
    static func firstPart(of gaps: [FeedGap]) -> [FeedGap] {
        var (firstPart, remaining): ([FeedGap], Int64) = ([], copyBatchSize)
        for gap in gaps where remaining > 0 {
            let last = min(gap.last, gap.synced + remaining)
            remaining -= last - gap.synced
            firstPart.append(FeedGap(author: gap.author, synced: gap.synced, last: last))
        }
        return firstPart
    }
}
