import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// One's own posts and those of whom one follows, newest first.
///
/// It is made when it is read: a post costs its author the same whether ten follow him or a million, and who never comes
/// costs nothing. What was posted since somebody last looked is copied to his feed first, whose order is an index.
struct HomeFeed: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner
    /// How many follow somebody whose posts are merged in rather than copied.
    let mergeThreshold: Int

    private static let list = "home"
    /// How many posts are copied in one transaction.
    static let copyBatchSize: Int64 = 10_000
    /// How many such transactions one request waits for; what is still missing then is left to the next.
    static let maximumCopiesPerRequest = 10
    /// How many times as many entries are looked at next, where too few were to be seen.
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

    /// Where the first posts are that the owner may see.
    private func positions(of owner: Person, after last: FeedPosition, limit: Int) async throws -> [FeedPosition] {
        let store = HomeFeedStore(db: database.reads)
        var (found, last, width): ([FeedPosition], FeedPosition, Int) = ([], last, limit)
        var read = try await store.entries(of: owner.id, after: last, limit: width)
        if read.isBehind {
            try await copyNewPosts(owner)
            // What is posted from here on was not there when this was asked for.
            read = try await store.entries(of: owner.id, after: last, limit: width)
        }
        while true {
            try await remove(read.entries.filter { $0.state == .gone }.map(\.position), of: owner.id)
            found += read.entries.filter { $0.state == .visible }.map(\.position)
            guard found.count < limit, read.entries.count == width, let end = read.entries.last else {
                return Array(found.prefix(limit))
            }
            (last, width) = (end.position, min(width * Self.growthFactor, Self.maximumEntries))
            read = try await store.entries(of: owner.id, after: last, limit: width)
        }
    }

    /// Copies what those who are followed have posted since, so many posts at a time.
    ///
    /// - Throws: `unavailable` where there is more than one request waits for; the next goes on where this one ended.
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
                let now = Self.firstPart(of: gaps)
                if !now.isEmpty { try await store.copyPosts(now, of: owner) }
                return now.map(\.last) == gaps.map(\.last)
            }
            if isDone { return }
        }
        throw APIError.unavailable("the home feed, which is being made,")
    }

    /// Posts that are gone are taken out by who comes by them first.
    private func remove(_ gone: [FeedPosition], of owner: Person.ID) async throws {
        guard !gone.isEmpty else { return }
        try await database.transaction { db in try await FeedStore(db: db).delete(gone, of: owner) }
    }

    /// As many of the gaps as are closed at once, the last of them maybe only in part.
    static func firstPart(of gaps: [FeedGap]) -> [FeedGap] {
        var (firstPart, room): ([FeedGap], Int64) = ([], copyBatchSize)
        for gap in gaps where room > 0 {
            let last = min(gap.last, gap.synced + room)
            room -= last - gap.synced
            firstPart.append(FeedGap(author: gap.author, synced: gap.synced, last: last))
        }
        return firstPart
    }
}
