import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Comments and likes.
@Suite struct ReplyTests {
    @Test func commentsAreCountedAndTheLatestThreeComeAlong() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann)
            for number in 1...5 { _ = try await scene.bob.photos.comment("\(number)", on: post.postId) }

            let read = try await scene.eve.photos.post(post.postId)

            #expect(read.commentCount == 5 && read.recentComments.map(\.text) == ["5", "4", "3"])
            let all = try await scene.eve.photos.comments(on: post.postId).things
            #expect(all.map(\.text) == ["5", "4", "3", "2", "1"] && Array(all.prefix(3)) == read.recentComments)
            #expect(all.allSatisfy { $0.author == Author(userId: "bob", fullName: "bob") && $0.editedAt == nil })
            #expect(Set(all.map(\.commentId)).count == 5)
        }
    }

    @Test func anEditedCommentKeepsItsPlaceAndItsTime() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann)
            let first = try await scene.bob.photos.comment("first", on: post.postId)
            _ = try await scene.bob.photos.comment("second", on: post.postId)

            let edited = try await scene.bob.photos.edit(first.commentId, on: post.postId, to: "changed")

            #expect(edited.text == "changed" && edited.timestamp == first.timestamp && edited.editedAt != nil)
            #expect(try await scene.ann.photos.comments(on: post.postId).things.map(\.text) == ["second", "changed"])
            let same = try await scene.bob.photos.edit(first.commentId, on: post.postId, to: "changed")
            #expect(same == edited)
        }
    }

    @Test func aCommentIsDeletedByItsWriterAndByThePostsAuthor() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann)
            let one = try await scene.bob.photos.comment("one", on: post.postId)
            let two = try await scene.bob.photos.comment("two", on: post.postId)

            try await scene.bob.photos.delete(one.commentId, on: post.postId)
            try await scene.ann.photos.delete(two.commentId, on: post.postId)

            #expect(try await scene.ann.photos.post(post.postId).commentCount == 0)
            let again = try await scene.bob.ask(.delete, "/photos/posts/\(post.postId)/comments/\(one.commentId)")
            #expect(again.status == 404)
            let third = try await scene.bob.photos.comment("three", on: post.postId)
            #expect(![one, two].map(\.commentId).contains(third.commentId))
            #expect(try await scene.miscounted() == [])
        }
    }

    @Test func aLikeIsOneHoweverOftenItIsSaid() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann)

            for _ in 1...3 {
                #expect(try await scene.bob.photos.like(post.postId) == LikeState(isLiked: true, likeCount: 1))
            }
            #expect(try await scene.ann.photos.like(post.postId) == LikeState(isLiked: true, likeCount: 2))
            #expect(try await scene.bob.photos.post(post.postId).isLiked)
            #expect(try await !scene.eve.photos.post(post.postId).isLiked)
            #expect(try await scene.eve.photos.likes(of: post.postId).things.map(\.author.userId) == ["ann", "bob"])

            for _ in 1...2 {
                #expect(try await scene.bob.photos.unlike(post.postId) == LikeState(isLiked: false, likeCount: 1))
            }
            #expect(try await scene.miscounted() == [])
        }
    }

    @Test func manyLikesAtOnceAreAllCounted() async throws {
        try await withPhotos { scene in
            let post = try await scene.post(by: scene.ann).postId
            var players: [Player] = []
            for number in 0..<20 { players.append(try await scene.player("p\(number)")) }

            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, player) in players.enumerated() {
                    // Each twice, and every fourth takes it back.
                    for _ in 0..<2 { group.addTask { try await player.photos.like(post) } }
                    if number.isMultiple(of: 4) { group.addTask { try await player.photos.unlike(post) } }
                    group.addTask { _ = try await player.photos.comment("hi", on: post) }
                }
                try await group.waitForAll()
            }

            let read = try await scene.ann.photos.post(post)
            #expect(read.commentCount == 20 && (15...20).contains(read.likeCount))
            #expect(try await scene.ann.photos.likes(of: post, limit: 100).things.count == read.likeCount)
            #expect(try await scene.miscounted() == [])
        }
    }

    @Test func nothingIsLeftOfWhatWasSaidWhileThePostWasDeleted() async throws {
        try await withPhotos { scene in
            let post = try await scene.post("#race", by: scene.ann).postId
            var players: [Player] = []
            for number in 0..<10 { players.append(try await scene.player("p\(number)")) }
            for player in players { _ = try await player.photos.posts(limit: 1) }

            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, player) in players.enumerated() {
                    group.addTask { try await player.ask(.put, "/photos/posts/\(post)/like").status }
                    group.addTask { try await player.ask(.put, "/photos/posts/\(post)/flag").status }
                    group.addTask {
                        try await player.ask(.post, "/photos/posts/\(post)/comments", #"{"text": "x"}"#).status
                    }
                    if number == 5 {
                        group.addTask { try await scene.ann.ask(.delete, "/photos/posts/\(post)").status }
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }

            #expect(statuses.isSubset(of: [200, 404]))
            try await eventually {
                try await scene.rows(
                    """
                    SELECT (SELECT count(*) FROM comments) + (SELECT count(*) FROM likes) + (SELECT count(*) FROM flags)
                        + (SELECT count(*) FROM flagged) + (SELECT count(*) FROM deleted_posts) || '' AS row
                    """
                ) == ["0"]
            }
            #expect(try await scene.miscounted() == [])
        }
    }

    @Test func tagsAreCountedWhateverIsEditedAndDeletedAtOnce() async throws {
        try await withPhotos { scene in
            var posts: [(player: Player, id: String)] = []
            for number in 0..<6 {
                let player = try await scene.player("p\(number)")
                posts.append((player, try await scene.post("#a #b #c", by: player).postId))
            }
            let last = posts[5]
            let texts = ["#b #a", "#c #a #d", "", "#d #c #b #a"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for post in posts.prefix(5) {
                    for text in texts {
                        group.addTask { _ = try await post.player.photos.edit(post.id, PostChanges(text: text)) }
                    }
                }
                group.addTask { try await last.player.photos.delete(last.id) }
                try await group.waitForAll()
            }
            #expect(try await scene.miscounted() == [])
        }
    }
}
