import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Lists of posts, likes and comments") struct ListTests {
    @Test("Paging through all posts is not disturbed by new posts")
    func concurrentPosts() async throws {
        try await withPhotos { fixture in
            var posts: [Post] = []
            for number in 0..<7 {
                posts.append(
                    try await fixture.post("\(number) #all", by: [fixture.ann, fixture.bob, fixture.eve][number % 3])
                )
            }
            let newest = Array(posts.map(\.postId).reversed())

            try await expect(newest, by: { try await fixture.eve.photos.posts(limit: 3, cursor: $0) }) {
                try await fixture.post("new #all", by: fixture.ann)
            }
        }
    }

    @Test("Posts of a user and posts with a hashtag are paged without gaps")
    func postLists() async throws {
        try await withPhotos { fixture in
            var mine: [Post] = []
            for number in 0..<5 {
                mine.append(try await fixture.post("\(number) #Mine", by: fixture.ann))
                try await fixture.post("#others", by: fixture.bob)
            }
            let newest = Array(mine.map(\.postId).reversed())

            try await expect(newest, by: { try await fixture.eve.photos.posts(of: "ann", limit: 2, cursor: $0) }) {
                try await fixture.post("#mine", by: fixture.ann)
            }
            try await fixture.ann.photos.delete(try await fixture.ann.photos.posts(of: "ann", limit: 1).items[0].postId)
            try await fixture.ann.photos.delete(try await fixture.ann.photos.posts(of: "ann", limit: 1).items[0].postId)
            let left = try await fixture.ann.photos.posts(of: "ann").items.map(\.postId)
            try await expect(left, by: { try await fixture.eve.photos.posts(tagged: "mine", limit: 2, cursor: $0) }) {
                try await fixture.post("#mine", by: fixture.eve)
            }
        }
    }

    @Test("Likes and comments are paged newest first")
    func likesAndComments() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann).postId
            var names: [String] = []
            for number in 0..<5 {
                let testUser = try await fixture.testUser("p\(number)")
                try await testUser.photos.like(post)
                _ = try await testUser.photos.comment("\(number)", on: post)
                names.append(testUser.id.user)
            }

            var (likes, comments, cursors): ([String], [String], [String?]) = ([], [], [nil, nil])
            for page in 0..<3 {
                let liked = try await fixture.bob.photos.likes(of: post, limit: 2, cursor: cursors[0])
                let commented = try await fixture.bob.photos.comments(on: post, limit: 2, cursor: cursors[1])
                likes += liked.items.map(\.author.userId)
                comments += commented.items.map(\.author.userId)
                cursors = [liked.next, commented.next]
                #expect((liked.next == nil) == (page == 2))
                #expect((commented.next == nil) == (page == 2))
                try await fixture.eve.photos.like(post)
            }
            #expect(likes == names.reversed())
            #expect(comments == names.reversed())
        }
    }

    @Test("A cursor is valid only for its user and list")
    func cursorScope() async throws {
        try await withPhotos { fixture in
            for _ in 0..<3 { try await fixture.post("#x", by: fixture.ann) }
            let cursor = try #require(try await fixture.ann.photos.posts(limit: 1).next)
            let others = [
                (fixture.bob, "/photos/posts"), (fixture.ann, "/photos/hashtags/x"),
                (fixture.ann, "/photos/people/ann/posts"),
            ]
            for (testUser, path) in others {
                let response = try await testUser.ask(.get, "\(path)?cursor=\(cursor)")
                #expect(response.status == 400, "\(path)")
                #expect(response.problem?.field == "cursor", "\(path)")
            }
            #expect(try await fixture.ann.ask(.get, "/photos/posts?cursor=\(cursor)").status == 200)
        }
    }

    @Test("Users with a block between them do not see each other in any list")
    func blocks() async throws {
        try await withPhotos { fixture in
            let anns = try await fixture.post("#both #ann", by: fixture.ann)
            let bobs = try await fixture.post("#both #bob", by: fixture.bob)
            let eves = try await fixture.post("#both", by: fixture.eve)
            for testUser in [fixture.ann, fixture.bob] {
                _ = try await testUser.photos.comment(testUser.id.user, on: eves.postId)
                try await testUser.photos.like(eves.postId)
            }
            try await fixture.block(fixture.bob, by: fixture.ann)

            for (testUser, own) in [(fixture.ann, anns), (fixture.bob, bobs)] {
                #expect(try await testUser.photos.posts().items.map(\.postId) == [eves.postId, own.postId])
                #expect(
                    try await testUser.photos.posts(tagged: "both").items.map(\.postId) == [eves.postId, own.postId]
                )
                let seen = try await testUser.photos.post(eves.postId)
                #expect(seen.recentComments.map(\.author.userId) == [testUser.id.user])
                #expect(seen.commentCount == 2)
                let comments = try await testUser.photos.comments(on: eves.postId).items
                #expect(comments.map(\.author.userId) == [testUser.id.user])
                let likes = try await testUser.photos.likes(of: eves.postId).items
                #expect(likes.map(\.author.userId) == [testUser.id.user])
                #expect(try await testUser.photos.hashtags("a").isEmpty == (testUser.id == fixture.bob.id))
            }
            #expect(try await fixture.eve.photos.posts().items.count == 3)
            #expect(try await fixture.eve.photos.comments(on: eves.postId).items.count == 2)
            #expect(try await fixture.bob.ask(.get, "/photos/people/ann/posts").status == 404)
            #expect(try await fixture.ann.ask(.get, "/photos/people/bob/posts").status == 404)
        }
    }

    @Test("Hashtags are found by prefix, most used first, within the application")
    func hashtagSearch() async throws {
        try await withPhotos { fixture in
            try await fixture.post("#Sunset #sun #sünde", by: fixture.ann)
            try await fixture.post("#SUNSET #moon", by: fixture.bob)
            let elsewhere = try await fixture.account("Zoe")
            try await fixture.post("#sunny", by: elsewhere)

            let found = try await fixture.eve.photos.hashtags("#Sun")
            #expect(found == [Hashtag(tag: "sunset", postCount: 2), Hashtag(tag: "sun", postCount: 1)])
            #expect(try await fixture.eve.photos.hashtags("SÜ").map(\.tag) == ["sünde"])
            #expect(try await fixture.eve.photos.hashtags("x") == [])
            #expect(try await elsewhere.photos.hashtags("sun").map(\.tag) == ["sunny"])
        }
    }

    /// Expects the ids when paging through a list to which `meanwhile` adds an item after each page.
    private func expect(
        _ ids: [String],
        by page: (String?) async throws -> Page<Post>,
        meanwhile: () async throws -> Void
    ) async throws {
        var (found, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await page(cursor)
            found += page.items.map(\.postId)
            cursor = page.next
            try await meanwhile()
        } while cursor != nil
        #expect(found == ids)
    }
}
