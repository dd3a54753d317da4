import HTTPTypes
import PhotosAPI
@testable import PhotosServer
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Home feed") struct HomeTests {
    @Test("The home feed has own posts and posts of followed users, including older ones")
    func ownAndFollowed() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            #expect(try await fixture.ann.home().isEmpty)
            try await fixture.post("before", by: fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await fixture.post("mine", by: fixture.ann)
            try await fixture.post("other's", by: fixture.eve)
            try await fixture.post("after", by: fixture.bob)

            let home = try await fixture.ann.home()

            #expect(home.map(\.text) == ["after", "mine", "before"])
            let latest = try await fixture.ann.photos.posts(of: "bob").items.first
            #expect(home.first == latest)
            #expect(try await fixture.bob.home().map(\.text) == ["after", "before"])
        }
    }

    @Test("Unfollowing removes the posts, and following again restores them")
    func unfollowAndFollow() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            for number in 0..<5 { try await fixture.post("\(number)", by: fixture.bob) }
            try await fixture.ann.photos.follow("bob")
            #expect(try await fixture.ann.home().map(\.text) == ["4", "3", "2", "1", "0"])

            try await fixture.ann.photos.unfollow("bob")
            #expect(try await fixture.ann.home().isEmpty)
            #expect(try await fixture.followInconsistencies() == [])
            try await fixture.post("5", by: fixture.bob)
            try await fixture.ann.photos.follow("bob")
            #expect(try await fixture.ann.home().map(\.text) == ["5", "4", "3", "2", "1", "0"])
        }
    }

    @Test("Deleted and hidden posts are not in the home feed, and a restored post is")
    func deletedAndHidden() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            try await fixture.ann.photos.follow("bob")
            var posts: [Post] = []
            for number in 0..<30 { posts.append(try await fixture.post("\(number)", by: fixture.bob)) }
            let server = try fixture.moderator()
            #expect(try await fixture.ann.home(limit: 7).count == 30)

            for post in posts[5..<28] { try await fixture.bob.photos.delete(post.postId) }
            try await server.hide(posts[29].postId)
            let expected = ["28", "4", "3", "2", "1", "0"]
            #expect(try await fixture.ann.photos.home(limit: 3).items.map(\.text) == ["28", "4", "3"])
            #expect(try await fixture.ann.home(limit: 2).map(\.text) == expected)
            // The hidden post is not in its author's home feed either.
            #expect(try await fixture.bob.home().map(\.text) == expected)

            // Reading the feed removed the entries of deleted posts.
            #expect(try await fixture.rows("SELECT 'one' AS row FROM feed").count == 7)
            try await server.restore(posts[29].postId)
            #expect(try await fixture.ann.home().map(\.text) == ["29"] + expected)
        }
    }

    @Test("Posts of an author with many followers are merged when the feed is read")
    func mergedAuthors() async throws {
        try await withPhotos(change: { $0.mergedFollowers = 2 }) { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            let fan = try await fixture.testUser("fan")
            try await fan.photos.follow("bob")
            try await fixture.post("one", by: fixture.bob)
            #expect(try await fan.home().map(\.text) == ["one"])

            // These are Bo's second and third followers.
            try await fixture.eve.photos.follow("bob")
            try await fixture.ann.photos.follow("bob")
            try await fixture.post("own", by: fixture.ann)
            try await fixture.post("two", by: fixture.bob)

            #expect(try await fixture.ann.home(limit: 1).map(\.text) == ["two", "own", "one"])
            // This follower copied the first post before Bo had enough followers to be merged.
            #expect(try await fan.home(limit: 1).map(\.text) == ["two", "one"])
            #expect(try await fixture.eve.home(limit: 1).map(\.text) == ["two", "one"])
            let copied = try await fixture.rows(
                """
                SELECT user_id || ' ' || number AS row FROM feed JOIN people ON person_id = owner_id ORDER BY 1
                """
            )
            #expect(copied == ["fan 1"])
            try await fixture.ann.photos.unfollow("bob")
            try await fan.photos.unfollow("bob")
            #expect(try await fixture.ann.home().map(\.text) == ["own"])
            #expect(try await fan.home().isEmpty)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("Copying starts with the part of the gaps that fits into one batch")
    func copyBatches() {
        let gaps = [
            FeedGap(author: Person.ID(1), synced: 0, last: 4_000),
            FeedGap(author: Person.ID(2), synced: 10, last: 9_000),
            FeedGap(author: Person.ID(3), synced: 0, last: 1),
        ]
        #expect(
            HomeFeed.firstPart(of: gaps) == [gaps[0], FeedGap(author: Person.ID(2), synced: 10, last: 6_010)]
        )
        #expect(HomeFeed.firstPart(of: [gaps[2], gaps[0]]) == [gaps[2], gaps[0]])
        #expect(HomeFeed.firstPart(of: []).isEmpty)
    }

    @Test("A feed with too many posts to copy responds 503, and the next request continues")
    func copyLimit() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.ann, fixture.bob)
            let many = HomeFeed.copyBatchSize * Int64(HomeFeed.maximumCopiesPerRequest) + 5
            try await fixture.insertPosts(many, by: fixture.bob)
            try await fixture.ann.photos.follow("bob")

            let first = try await fixture.ann.ask(.get, "/photos/home")
            #expect(first.status == 503, "\(first.text)")
            #expect(first.headers[.retryAfter] != nil, "\(first.text)")
            #expect(try await fixture.ann.photos.home(limit: 1).items.map(\.text) == ["\(many)"])
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM feed") == ["\(many)"])
            try await fixture.ann.photos.unfollow("bob")
            #expect(try await fixture.ann.home().isEmpty)
            #expect(try await fixture.followInconsistencies() == [])
        }
    }

    @Test("Reading the home feed again writes nothing")
    func repeatedReads() async throws {
        try await withPhotos { fixture in
            try await fixture.createProfiles(fixture.bob)
            try await fixture.ann.photos.follow("bob")
            try await fixture.post(by: fixture.bob)
            _ = try await fixture.ann.home()
            let marks = "SELECT xmin::text || ' ' || synced_number AS row FROM follows"
            let before = try await fixture.rows(marks)
            for _ in 0..<3 { _ = try await fixture.ann.home() }
            #expect(try await fixture.rows(marks) == before)
        }
    }
}
