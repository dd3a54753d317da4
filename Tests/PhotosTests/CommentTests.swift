import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Comments and likes") struct CommentTests {
    @Test("A post has its three newest comments, and the list has all, newest first")
    func recentComments() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann)
            for number in 1...5 { _ = try await fixture.bob.photos.comment("\(number)", on: post.postId) }

            let read = try await fixture.eve.photos.post(post.postId)

            #expect(read.commentCount == 5)
            #expect(read.recentComments.map(\.text) == ["5", "4", "3"])
            let all = try await fixture.eve.photos.comments(on: post.postId).items
            #expect(all.map(\.text) == ["5", "4", "3", "2", "1"])
            #expect(Array(all.prefix(3)) == read.recentComments)
            #expect(all.allSatisfy { $0.author == Author(userId: "bob", fullName: "bob") })
            #expect(all.allSatisfy { $0.editedAt == nil })
            #expect(Set(all.map(\.commentId)).count == 5)
        }
    }

    @Test("An edited comment keeps its time and position")
    func updateComment() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann)
            let first = try await fixture.bob.photos.comment("first", on: post.postId)
            _ = try await fixture.bob.photos.comment("second", on: post.postId)

            let edited = try await fixture.bob.photos.update(first.commentId, on: post.postId, to: "changed")

            #expect(edited.text == "changed")
            #expect(edited.timestamp == first.timestamp)
            #expect(edited.editedAt != nil)
            #expect(try await fixture.ann.photos.comments(on: post.postId).items.map(\.text) == ["second", "changed"])
            let same = try await fixture.bob.photos.update(first.commentId, on: post.postId, to: "changed")
            #expect(same == edited)
        }
    }

    @Test("A comment can be deleted by its author and by the post's author, and its id is not used again")
    func deleteComment() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann)
            let one = try await fixture.bob.photos.comment("one", on: post.postId)
            let two = try await fixture.bob.photos.comment("two", on: post.postId)

            try await fixture.bob.photos.delete(one.commentId, on: post.postId)
            try await fixture.ann.photos.delete(two.commentId, on: post.postId)

            #expect(try await fixture.ann.photos.post(post.postId).commentCount == 0)
            let again = try await fixture.bob.ask(.delete, "/photos/posts/\(post.postId)/comments/\(one.commentId)")
            #expect(again.status == 404)
            let third = try await fixture.bob.photos.comment("three", on: post.postId)
            #expect(![one, two].map(\.commentId).contains(third.commentId))
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Liking and unliking are idempotent")
    func repeatedLikes() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann)

            for _ in 1...3 {
                #expect(try await fixture.bob.photos.like(post.postId) == LikeState(isLiked: true, likeCount: 1))
            }
            #expect(try await fixture.ann.photos.like(post.postId) == LikeState(isLiked: true, likeCount: 2))
            #expect(try await fixture.bob.photos.post(post.postId).isLiked)
            #expect(try await !fixture.eve.photos.post(post.postId).isLiked)
            #expect(try await fixture.eve.photos.likes(of: post.postId).items.map(\.author.userId) == ["ann", "bob"])

            for _ in 1...2 {
                #expect(try await fixture.bob.photos.unlike(post.postId) == LikeState(isLiked: false, likeCount: 1))
            }
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Counters are exact after concurrent likes and comments")
    func concurrentLikes() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann).postId
            var testUsers: [TestUser] = []
            for number in 0..<20 { testUsers.append(try await fixture.testUser("p\(number)")) }

            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, testUser) in testUsers.enumerated() {
                    // Each user likes twice, and every fourth user also unlikes.
                    for _ in 0..<2 { group.addTask { try await testUser.photos.like(post) } }
                    if number.isMultiple(of: 4) { group.addTask { try await testUser.photos.unlike(post) } }
                    group.addTask { _ = try await testUser.photos.comment("hi", on: post) }
                }
                try await group.waitForAll()
            }

            let read = try await fixture.ann.photos.post(post)
            #expect(read.commentCount == 20)
            #expect((15...20).contains(read.likeCount))
            #expect(try await fixture.ann.photos.likes(of: post, limit: 100).items.count == read.likeCount)
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Deleting a post while it is liked, flagged and commented on leaves no rows")
    func concurrentPostDeletion() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("#race", by: fixture.ann).postId
            var testUsers: [TestUser] = []
            for number in 0..<10 { testUsers.append(try await fixture.testUser("p\(number)")) }
            for testUser in testUsers { _ = try await testUser.photos.posts(limit: 1) }

            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, testUser) in testUsers.enumerated() {
                    group.addTask { try await testUser.ask(.put, "/photos/posts/\(post)/like").status }
                    group.addTask { try await testUser.ask(.put, "/photos/posts/\(post)/flag").status }
                    group.addTask {
                        try await testUser.ask(.post, "/photos/posts/\(post)/comments", #"{"text": "x"}"#).status
                    }
                    if number == 5 {
                        group.addTask { try await fixture.ann.ask(.delete, "/photos/posts/\(post)").status }
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }

            #expect(statuses.isSubset(of: [200, 404]))
            try await eventually {
                try await fixture.rows(
                    """
                    SELECT (SELECT count(*) FROM comments) + (SELECT count(*) FROM likes) + (SELECT count(*) FROM flags)
                        + (SELECT count(*) FROM flagged_items) + (SELECT count(*) FROM deleted_posts) || '' AS row
                    """
                ) == ["0"]
            }
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Hashtag counts are exact after concurrent edits")
    func concurrentTagCounts() async throws {
        try await withPhotos { fixture in
            var posts: [(testUser: TestUser, id: String)] = []
            for number in 0..<6 {
                let testUser = try await fixture.testUser("p\(number)")
                posts.append((testUser, try await fixture.post("#a #b #c", by: testUser).postId))
            }
            let last = posts[5]
            let texts = ["#b #a", "#c #a #d", "", "#d #c #b #a"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for post in posts.prefix(5) {
                    for text in texts {
                        group.addTask { _ = try await post.testUser.photos.update(post.id, PostChanges(text: text)) }
                    }
                }
                group.addTask { try await last.testUser.photos.delete(last.id) }
                try await group.waitForAll()
            }
            #expect(try await fixture.countInconsistencies() == [])
        }
    }
}
