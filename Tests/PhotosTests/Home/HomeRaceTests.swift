import Foundation
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

/// The home feed while others write.
@Suite struct HomeRaceTests {
    /// A number is taken, and its post is not there yet; a reader comes by, and then it is.
    @Test func aPostThatIsCommittedLateIsNotMissed() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            try await scene.ann.photos.follow("bob")
            try await scene.post("first", by: scene.bob)
            let (taken, seen) = (Signal(), Signal())

            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await scene.service.database.pool.transaction { db in
                        try await scene.write("late", by: scene.bob, in: db)
                        taken.give()
                        await seen.wait()
                    }
                }
                await taken.wait()
                #expect(try await scene.ann.home().map(\.text) == ["first"])
                // Another author's, which is newer, moves nobody's mark but his own.
                try await scene.introduce(scene.eve)
                try await scene.ann.photos.follow("eve")
                try await scene.post("eve's", by: scene.eve)
                #expect(try await scene.ann.home().map(\.text) == ["eve's", "first"])
                seen.give()
                try await group.waitForAll()
            }

            #expect(try await scene.ann.home().map(\.text) == ["eve's", "late", "first"])
        }
    }

    /// One author's posts come one after the other, however many he makes at once.
    @Test func postsOfOneAuthorAtOnceAreAllSeenAndInOrder() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            try await scene.ann.photos.follow("bob")
            try await withSecondInstance(of: scene) { second in
                let ann = try await Player(scene.ann.id, at: second, scene.auth)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<6 {
                        group.addTask { for turn in 0..<5 { try await scene.post("\(number)-\(turn)", by: scene.bob) } }
                    }
                    for reader in [scene.ann, ann, scene.ann, ann] {
                        group.addTask {
                            var known: [String] = []
                            while known.count < 30 {
                                let home = try await reader.home().map(\.postId)
                                // Nothing that was seen is missing later, or elsewhere.
                                #expect(Array(home.suffix(known.count)) == known)
                                known = home
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let times = try await ann.home().map(\.timestamp)
                #expect(times == times.sorted(by: >) && times.count == 30)
                #expect(try await scene.misfollowed() == [])
            }
        }
    }

    /// Whoever reads first copies, and the other finds it done.
    @Test func twoReadersAtOnceCopyNothingTwice() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            try await scene.fill(500, by: scene.bob)
            try await withSecondInstance(of: scene) { second in
                let elsewhere = try await Player(scene.ann.id, at: second, scene.auth)
                for _ in 0..<5 {
                    try await scene.ann.photos.follow("bob")
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for reader in [scene.ann, elsewhere, scene.ann, elsewhere] {
                            group.addTask { try await reader.home().count }
                        }
                        for try await count in group { #expect(count == 500) }
                    }
                    #expect(try await scene.rows("SELECT count(*)::text AS row FROM feed") == ["500"])
                    try await scene.ann.photos.unfollow("bob")
                }
            }
        }
    }

    /// A reader copies what an end of following takes away: whichever comes first, nothing is left.
    @Test func whoIsUnfollowedDuringAReadLeavesNothing() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            // A page of them.
            try await scene.fill(90, by: scene.bob)
            try await withSecondInstance(of: scene) { second in
                let elsewhere = try await Player(scene.ann.id, at: second, scene.auth)
                for _ in 0..<12 {
                    try await scene.ann.photos.follow("bob")
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            let count = try await elsewhere.home().count
                            #expect([0, 90].contains(count))
                        }
                        group.addTask { try await scene.ann.photos.unfollow("bob") }
                        try await group.waitForAll()
                    }
                    #expect(try await scene.ann.home().isEmpty)
                    #expect(try await scene.misfollowed() == [])
                }
            }
        }
    }

    /// The mark waits for a reader who copies, and he for who ends to follow.
    @Test func theEndOfAFollowWaitsForAReaderWhoCopies() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            try await scene.fill(3, by: scene.bob)
            try await scene.ann.photos.follow("bob")
            let (copied, left) = (Signal(), Signal())
            let pool = scene.service.database.pool
            let ann = try #require(try await PeopleStore(db: pool).find(scene.ann.id))

            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await pool.transaction { db in
                        let store = FeedStore(db: db)
                        let gaps = try await store.lockGaps(of: ann.id, popular: 1_000)
                        try await store.close(gaps, of: ann)
                        copied.give()
                        await left.wait()
                    }
                }
                await copied.wait()
                group.addTask { try await scene.ann.photos.unfollow("bob") }
                try await eventually("waiting") {
                    try await scene.rows(
                        """
                        SELECT 'one' AS row FROM pg_stat_activity
                        WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock'
                        """
                    ).count == 1
                }
                left.give()
                try await group.waitForAll()
            }

            #expect(try await scene.ann.home().isEmpty)
            #expect(try await scene.misfollowed() == [])
        }
    }

    /// Pages hold their order while posts come and go, and who is followed meanwhile is in what is still to come.
    @Test func aWalkSkipsAndRepeatsNothing() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            try await scene.fill(40, by: scene.eve)
            try await scene.fill(40, by: scene.bob)
            try await scene.ann.photos.follow("bob")
            let whole = try await scene.ann.home().map(\.postId)

            var (walked, cursor): ([Post], String?) = ([], nil)
            repeat {
                let page = try await scene.ann.photos.home(limit: 7, cursor: cursor)
                walked += page.things
                cursor = page.next
                try await scene.post("new", by: scene.bob)
                if walked.count == 21 { try await scene.ann.photos.follow("eve") }
            } while cursor != nil

            let ids = walked.map(\.postId)
            #expect(Set(ids).count == ids.count)
            #expect(ids.filter(whole.contains) == whole)
            #expect(walked.contains { $0.author.userId == "eve" })
            #expect(zip(walked, walked.dropFirst()).allSatisfy { $0.timestamp >= $1.timestamp })
        }
    }
}

/// Given once, waited for by one.
private final class Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func give() { continuation.finish() }

    func wait() async { for await _ in stream {} }
}

extension Scene {
    /// What posting does, in a transaction that goes on.
    fileprivate func write(_ text: String, by player: Player, in db: PostgresTransaction) async throws {
        let store = PostStore(db: db, links: MediaLinks(publicURL: ""))
        let author = try #require(try await PeopleStore(db: db).find(player.id))
        let place = try #require(try await store.begin(by: author.id))
        try await store.insert(
            NewPost(
                key: place.key,
                application: player.id.application,
                text: text,
                hashtags: [],
                images: [],
                createdAt: place.createdAt
            )
        )
    }
}
