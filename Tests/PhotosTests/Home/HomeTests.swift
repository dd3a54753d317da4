import HTTPTypes
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

/// The home feed: one's own posts and those of whom one follows.
@Suite struct HomeTests {
    @Test func itHasOnesOwnPostsAndThoseOfWhomOneFollows() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            #expect(try await scene.ann.home().isEmpty)
            try await scene.post("before", by: scene.bob)
            try await scene.ann.photos.follow("bob")
            try await scene.post("mine", by: scene.ann)
            try await scene.post("other's", by: scene.eve)
            try await scene.post("after", by: scene.bob)

            let home = try await scene.ann.home()

            #expect(home.map(\.text) == ["after", "mine", "before"])
            let latest = try await scene.ann.photos.posts(of: "bob").things.first
            #expect(home.first == latest)
            #expect(try await scene.bob.home().map(\.text) == ["after", "before"])
        }
    }

    @Test func unfollowingTakesAllOutAndFollowingAgainBringsAllBack() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            for number in 0..<5 { try await scene.post("\(number)", by: scene.bob) }
            try await scene.ann.photos.follow("bob")
            #expect(try await scene.ann.home().map(\.text) == ["4", "3", "2", "1", "0"])

            try await scene.ann.photos.unfollow("bob")
            #expect(try await scene.ann.home().isEmpty)
            #expect(try await scene.misfollowed() == [])
            try await scene.post("5", by: scene.bob)
            try await scene.ann.photos.follow("bob")
            #expect(try await scene.ann.home().map(\.text) == ["5", "4", "3", "2", "1", "0"])
        }
    }

    @Test func whatIsGoneOrHiddenIsNotInIt() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            try await scene.ann.photos.follow("bob")
            var posts: [Post] = []
            for number in 0..<30 { posts.append(try await scene.post("\(number)", by: scene.bob)) }
            let server = try scene.moderator()
            #expect(try await scene.ann.home(limit: 7).count == 30)

            for post in posts[5..<28] { try await scene.bob.photos.delete(post.postId) }
            try await server.hide(posts[29].postId)
            let expected = ["28", "4", "3", "2", "1", "0"]
            #expect(try await scene.ann.photos.home(limit: 3).things.map(\.text) == ["28", "4", "3"])
            #expect(try await scene.ann.home(limit: 2).map(\.text) == expected)
            // Its author has it hidden too, and finds it among his own.
            #expect(try await scene.bob.home().map(\.text) == expected)

            // Who came by those that are gone has taken them out.
            #expect(try await scene.rows("SELECT 'one' AS row FROM feed").count == 7)
            try await server.restore(posts[29].postId)
            #expect(try await scene.ann.home().map(\.text) == ["29"] + expected)
        }
    }

    @Test func thoseWhomVeryManyFollowAreMergedIn() async throws {
        try await withPhotos(settings: ["HOME_MERGE_FOLLOWERS_MIN": "2"]) { scene in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            let fan = try await scene.player("fan")
            try await fan.photos.follow("bob")
            try await scene.post("one", by: scene.bob)
            #expect(try await fan.home().map(\.text) == ["one"])

            // Second and third, the last of whom finds two there already.
            try await scene.eve.photos.follow("bob")
            try await scene.ann.photos.follow("bob")
            try await scene.post("own", by: scene.ann)
            try await scene.post("two", by: scene.bob)

            #expect(try await scene.ann.home(limit: 1).map(\.text) == ["two", "own", "one"])
            // He had copied what was there before bob was known to so many.
            #expect(try await fan.home(limit: 1).map(\.text) == ["two", "one"])
            #expect(try await scene.eve.home(limit: 1).map(\.text) == ["two", "one"])
            let copied = try await scene.rows(
                """
                SELECT user_id || ' ' || number AS row FROM feed JOIN people ON person_id = owner_id ORDER BY 1
                """
            )
            #expect(copied == ["fan 1"])
            try await scene.ann.photos.unfollow("bob")
            try await fan.photos.unfollow("bob")
            #expect(try await scene.ann.home().map(\.text) == ["own"])
            #expect(try await fan.home().isEmpty)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func aLongBacklogIsCopiedPieceByPiece() {
        let gaps = [
            FeedGap(author: Person.ID(1), synced: 0, last: 4_000),
            FeedGap(author: Person.ID(2), synced: 10, last: 9_000),
            FeedGap(author: Person.ID(3), synced: 0, last: 1),
        ]
        #expect(
            HomeFeed.part(of: gaps) == [gaps[0], FeedGap(author: Person.ID(2), synced: 10, last: 6_010)]
        )
        #expect(HomeFeed.part(of: [gaps[2], gaps[0]]) == [gaps[2], gaps[0]])
        #expect(HomeFeed.part(of: []).isEmpty)
    }

    @Test func moreThanOneRequestCopiesIsLeftToTheNext() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.ann, scene.bob)
            let many = HomeFeed.copiedAtOnce * Int64(HomeFeed.copiesOfRequest) + 5
            try await scene.fill(many, by: scene.bob)
            try await scene.ann.photos.follow("bob")

            let first = try await scene.ann.ask(.get, "/photos/home")
            #expect(first.status == 503 && first.headers[.retryAfter] != nil, "\(first.text)")
            #expect(try await scene.ann.photos.home(limit: 1).things.map(\.text) == ["\(many)"])
            #expect(try await scene.rows("SELECT count(*)::text AS row FROM feed") == ["\(many)"])
            try await scene.ann.photos.unfollow("bob")
            #expect(try await scene.ann.home().isEmpty)
            #expect(try await scene.misfollowed() == [])
        }
    }

    @Test func readingItOftenWritesNothing() async throws {
        try await withPhotos { scene in
            try await scene.introduce(scene.bob)
            try await scene.ann.photos.follow("bob")
            try await scene.post(by: scene.bob)
            _ = try await scene.ann.home()
            let marks = "SELECT xmin::text || ' ' || synced_number AS row FROM follows"
            let before = try await scene.rows(marks)
            for _ in 0..<3 { _ = try await scene.ann.home() }
            #expect(try await scene.rows(marks) == before)
        }
    }
}
