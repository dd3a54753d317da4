import Foundation
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Home feed under concurrent writes") struct HomeRaceTests {
    /// The number of a post is taken before the post is visible, and the feed is read in between.
    @Test("A post that commits after a newer post was read still appears")
    func lateCommit() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await fixture.post("first", by: fixture.bob)
            let (taken, seen) = (Signal(), Signal())

            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await fixture.service.database.pool.transaction { db in
                        try await fixture.write("late", by: fixture.bob, in: db)
                        taken.fire()
                        await seen.wait()
                    }
                }
                await taken.wait()
                #expect(try await fixture.ann.home().map(\.text) == ["first"])
                // A newer post by another author advances only the read position of that author.
                try await fixture.createProfiles(fixture.eve)
                try await fixture.ann.photos.follow("eve")
                try await fixture.post("eve's", by: fixture.eve)
                #expect(try await fixture.ann.home().map(\.text) == ["eve's", "first"])
                seen.fire()
                try await group.waitForAll()
            }

            #expect(try await fixture.ann.home().map(\.text) == ["eve's", "late", "first"])
        }
    }

    /// The database serializes the posts of one author, however many requests are sent at the same time.
    @Test("Posts by one author appear in one order, and none is skipped")
    func concurrentPosts() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await withSecondInstance(of: fixture) { second in
                let ann = try await TestUser(fixture.ann.id, at: second, fixture.auth)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<6 {
                        group.addTask {
                            for turn in 0..<5 { try await fixture.post("\(number)-\(turn)", by: fixture.bob) }
                        }
                    }
                    for reader in [fixture.ann, ann, fixture.ann, ann] {
                        group.addTask {
                            var known: [String] = []
                            while known.count < 30 {
                                let home = try await reader.home().map(\.postId)
                                // A post that was read once is in every later page, also on the other instance.
                                #expect(Array(home.suffix(known.count)) == known)
                                known = home
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let times = try await ann.home().map(\.timestamp)
                #expect(times == times.sorted(by: >))
                #expect(times.count == 30)
                #expect(try await fixture.followInconsistencies() == [])
            }
        }
    }

    /// The first reader copies the posts, and the other readers find them copied.
    @Test("Concurrent readers of one feed copy each post once")
    func concurrentReaders() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            try await fixture.insertPosts(500, by: fixture.bob)
            try await withSecondInstance(of: fixture) { second in
                let elsewhere = try await TestUser(fixture.ann.id, at: second, fixture.auth)
                for _ in 0..<5 {
                    try await fixture.ann.photos.follow("bob")
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for reader in [fixture.ann, elsewhere, fixture.ann, elsewhere] {
                            group.addTask { try await reader.home().count }
                        }
                        for try await count in group { #expect(count == 500) }
                    }
                    #expect(try await fixture.rows("SELECT count(*)::text AS row FROM feed") == ["500"])
                    try await fixture.ann.photos.unfollow("bob")
                }
            }
        }
    }

    /// A reader copies posts that unfollowing removes, so the two must be serialized.
    @Test("Unfollowing while the feed is read leaves no post behind")
    func unfollowDuringRead() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            // All of these posts fit on one page.
            try await fixture.insertPosts(90, by: fixture.bob)
            try await withSecondInstance(of: fixture) { second in
                let elsewhere = try await TestUser(fixture.ann.id, at: second, fixture.auth)
                for _ in 0..<12 {
                    try await fixture.ann.photos.follow("bob")
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            let count = try await elsewhere.home().count
                            #expect([0, 90].contains(count))
                        }
                        group.addTask { try await fixture.ann.photos.unfollow("bob") }
                        try await group.waitForAll()
                    }
                    #expect(try await fixture.ann.home().isEmpty)
                    #expect(try await fixture.followInconsistencies() == [])
                }
            }
        }
    }

    /// A reader that copies posts and a request that unfollows lock the same rows.
    @Test("Unfollowing waits for a reader that is copying posts")
    func unfollowWaitsForCopy() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            try await fixture.insertPosts(3, by: fixture.bob)
            try await fixture.ann.photos.follow("bob")
            let (copied, released) = (Signal(), Signal())
            let pool = fixture.service.database.pool
            let ann = try #require(try await PeopleStore(db: pool).find(fixture.ann.id))

            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await pool.transaction { db in
                        let store = FeedStore(db: db)
                        let gaps = try await store.lockGaps(of: ann.id, mergeThreshold: 1_000)
                        try await store.copyPosts(gaps, of: ann)
                        copied.fire()
                        await released.wait()
                    }
                }
                await copied.wait()
                group.addTask { try await fixture.ann.photos.unfollow("bob") }
                try await eventually("waiting") {
                    try await fixture.rows(
                        """
                        SELECT 'one' AS row FROM pg_stat_activity
                        WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock'
                        """
                    ).count == 1
                }
                released.fire()
                try await group.waitForAll()
            }

            #expect(try await fixture.ann.home().isEmpty)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("Paging keeps its order during writes, and later pages include a newly followed author")
    func pagingDuringWrites() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            try await fixture.insertPosts(40, by: fixture.eve)
            try await fixture.insertPosts(40, by: fixture.bob)
            try await fixture.ann.photos.follow("bob")
            let whole = try await fixture.ann.home().map(\.postId)

            var (walked, cursor): ([Post], String?) = ([], nil)
            repeat {
                let page = try await fixture.ann.photos.home(limit: 7, cursor: cursor)
                walked += page.items
                cursor = page.next
                try await fixture.post("new", by: fixture.bob)
                if walked.count == 21 { try await fixture.ann.photos.follow("eve") }
            } while cursor != nil

            let ids = walked.map(\.postId)
            #expect(Set(ids).count == ids.count)
            #expect(ids.filter(whole.contains) == whole)
            #expect(walked.contains { $0.author.userId == "eve" })
            #expect(zip(walked, walked.dropFirst()).allSatisfy { $0.timestamp >= $1.timestamp })
        }
    }
}

/// A signal that is sent once to one waiting task.
private final class Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func fire() { continuation.finish() }

    func wait() async { for await _ in stream {} }
}

extension PhotosFixture {
    /// Inserts a post like the service does, in a transaction that stays open.
    fileprivate func write(_ text: String, by testUser: TestUser, in db: PostgresTransaction) async throws {
        let store = PostStore(db: db, links: MediaLinks(publicURL: ""))
        let author = try #require(try await PeopleStore(db: db).find(testUser.id))
        let position = try #require(try await store.begin(by: author.id))
        try await store.insert(
            NewPost(
                key: position.key,
                application: testUser.id.application,
                text: text,
                hashtags: [],
                images: [],
                createdAt: position.createdAt
            )
        )
    }
}
