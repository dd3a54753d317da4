import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Lists: their order, their pages, and who is not in them.
@Suite struct ListTests {
    @Test func aPageFollowsAnotherWhateverIsPostedMeanwhile() async throws {
        try await withPhotos { scene in
            var posts: [Post] = []
            for number in 0..<7 {
                posts.append(try await scene.post("\(number) #all", by: [scene.ann, scene.bob, scene.eve][number % 3]))
            }
            let newest = Array(posts.map(\.postId).reversed())

            try await expect(newest, by: { try await scene.eve.photos.posts(limit: 3, cursor: $0) }) {
                try await scene.post("new #all", by: scene.ann)
            }
        }
    }

    @Test func everyListOfPostsIsPagedByItsOwnOrder() async throws {
        try await withPhotos { scene in
            var mine: [Post] = []
            for number in 0..<5 {
                mine.append(try await scene.post("\(number) #Mine", by: scene.ann))
                try await scene.post("#others", by: scene.bob)
            }
            let newest = Array(mine.map(\.postId).reversed())

            try await expect(newest, by: { try await scene.eve.photos.posts(of: "ann", limit: 2, cursor: $0) }) {
                try await scene.post("#mine", by: scene.ann)
            }
            try await scene.ann.photos.delete(try await scene.ann.photos.posts(of: "ann", limit: 1).things[0].postId)
            try await scene.ann.photos.delete(try await scene.ann.photos.posts(of: "ann", limit: 1).things[0].postId)
            let left = try await scene.ann.photos.posts(of: "ann").things.map(\.postId)
            try await expect(left, by: { try await scene.eve.photos.posts(tagged: "mine", limit: 2, cursor: $0) }) {
                try await scene.post("#mine", by: scene.eve)
            }
        }
    }

    @Test func likesAndCommentsArePagedToo() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann).postId
            var names: [String] = []
            for number in 0..<5 {
                let player = try await scene.player("p\(number)")
                try await player.photos.like(post)
                _ = try await player.photos.comment("\(number)", on: post)
                names.append(player.id.user)
            }

            var (likes, comments, cursors): ([String], [String], [String?]) = ([], [], [nil, nil])
            for page in 0..<3 {
                let liked = try await scene.bob.photos.likes(of: post, limit: 2, cursor: cursors[0])
                let said = try await scene.bob.photos.comments(on: post, limit: 2, cursor: cursors[1])
                likes += liked.things.map(\.author.userId)
                comments += said.things.map(\.author.userId)
                cursors = [liked.next, said.next]
                #expect((liked.next == nil) == (page == 2) && (said.next == nil) == (page == 2))
                try await scene.eve.photos.like(post)
            }
            #expect(likes == names.reversed() && comments == names.reversed())
        }
    }

    @Test func aCursorIsOfOneListAndOneReader() async throws {
        try await withPhotos { scene in
            for _ in 0..<3 { try await scene.post("#x", by: scene.ann) }
            let cursor = try #require(try await scene.ann.photos.posts(limit: 1).next)
            let others = [
                (scene.bob, "/photos/posts"), (scene.ann, "/photos/hashtags/x"),
                (scene.ann, "/photos/people/ann/posts"),
            ]
            for (player, path) in others {
                let answer = try await player.ask(.get, "\(path)?cursor=\(cursor)")
                #expect(answer.status == 400 && answer.problem?.field == "cursor", "\(path)")
            }
            #expect(try await scene.ann.ask(.get, "/photos/posts?cursor=\(cursor)").status == 200)
        }
    }

    @Test func aBlockHidesEachFromTheOtherAndFromNobodyElse() async throws {
        try await withPhotos { scene in
            let anns = try await scene.post("#both #ann", by: scene.ann)
            let bobs = try await scene.post("#both #bob", by: scene.bob)
            let eves = try await scene.post("#both", by: scene.eve)
            for player in [scene.ann, scene.bob] {
                _ = try await player.photos.comment(player.id.user, on: eves.postId)
                try await player.photos.like(eves.postId)
            }
            try await scene.block(scene.bob, by: scene.ann)

            for (player, own) in [(scene.ann, anns), (scene.bob, bobs)] {
                #expect(try await player.photos.posts().things.map(\.postId) == [eves.postId, own.postId])
                #expect(
                    try await player.photos.posts(tagged: "both").things.map(\.postId) == [eves.postId, own.postId]
                )
                let seen = try await player.photos.post(eves.postId)
                #expect(seen.recentComments.map(\.author.userId) == [player.id.user] && seen.commentCount == 2)
                let comments = try await player.photos.comments(on: eves.postId).things
                #expect(comments.map(\.author.userId) == [player.id.user])
                let likes = try await player.photos.likes(of: eves.postId).things
                #expect(likes.map(\.author.userId) == [player.id.user])
                #expect(try await player.photos.hashtags("a").isEmpty == (player.id == scene.bob.id))
            }
            #expect(try await scene.eve.photos.posts().things.count == 3)
            #expect(try await scene.eve.photos.comments(on: eves.postId).things.count == 2)
            #expect(try await scene.bob.ask(.get, "/photos/people/ann/posts").status == 404)
            #expect(try await scene.ann.ask(.get, "/photos/people/bob/posts").status == 404)
        }
    }

    @Test func hashtagsAreFoundByTheirBeginning() async throws {
        try await withPhotos { scene in
            try await scene.post("#Sunset #sun #sünde", by: scene.ann)
            try await scene.post("#SUNSET #moon", by: scene.bob)
            let elsewhere = try await scene.account("Zoe")
            try await scene.post("#sunny", by: elsewhere)

            let found = try await scene.eve.photos.hashtags("#Sun")
            #expect(found == [Hashtag(tag: "sunset", postCount: 2), Hashtag(tag: "sun", postCount: 1)])
            #expect(try await scene.eve.photos.hashtags("SÜ").map(\.tag) == ["sünde"])
            #expect(try await scene.eve.photos.hashtags("x") == [])
            #expect(try await elsewhere.photos.hashtags("sun").map(\.tag) == ["sunny"])
        }
    }

    /// Walks through a list, which something is added to after each page.
    private func expect(
        _ ids: [String],
        by page: (String?) async throws -> Page<Post>,
        meanwhile: () async throws -> Void
    ) async throws {
        var (found, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await page(cursor)
            found += page.things.map(\.postId)
            cursor = page.next
            try await meanwhile()
        } while cursor != nil
        #expect(found == ids)
    }
}
