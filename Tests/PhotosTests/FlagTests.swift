import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// Moderation by an administrator of Roost and by an application's server.
@Suite("Flags and moderation") struct FlagTests {
    @Test("The list of flags has each flagged item once, and deleted items disappear")
    func list() async throws {
        try await withPhotos { fixture in
            let (ann, bob, root) = try await people(in: fixture)
            let first = try await fixture.post("first", by: ann)
            let second = try await fixture.post("second", by: ann)
            let comment = try await bob.photos.comment("rude", on: second.postId)
            try await bob.photos.flag(first.postId)
            try await ann.photos.flag(comment.commentId, on: second.postId)
            for _ in 0..<2 { try await root.photos.flag(first.postId) }

            let flags = try await root.photos.flags().items

            #expect(flags.map(\.kind) == [.comment, .post])
            #expect(flags.map(\.flagCount) == [1, 2])
            #expect(flags.map(\.post.postId) == [second.postId, first.postId])
            #expect(flags[0].comment == comment && flags[1].comment == nil)
            #expect(flags[1].firstFlaggedAt <= flags[1].lastFlaggedAt)
            #expect(flags[1].post.images == first.images)

            try await ann.photos.delete(comment.commentId, on: second.postId)
            #expect(try await root.photos.flags().items.map(\.post.postId) == [first.postId])
            try await ann.photos.delete(first.postId)
            #expect(try await root.photos.flags().items == [])
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Paging through flags is not disturbed by new flags")
    func stablePaging() async throws {
        try await withPhotos { fixture in
            let (ann, bob, root) = try await people(in: fixture)
            var posts: [String] = []
            for _ in 0..<5 { posts.append(try await fixture.post(by: ann).postId) }
            for post in posts { try await bob.photos.flag(post) }

            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await root.photos.flags(limit: 2, cursor: cursor)
                found += page.items.map(\.post.postId)
                cursor = page.next
                for post in posts { try await root.photos.flag(post) }
            } while cursor != nil

            #expect(found == posts.reversed())
        }
    }

    @Test("A hidden post is visible to its author only, until it is restored")
    func hiddenPost() async throws {
        try await withPhotos { fixture in
            let (ann, bob, root) = try await people(in: fixture)
            let post = try await fixture.post("#seen #hidden", by: ann)
            let other = try await fixture.post("#seen", by: bob)

            for _ in 0..<2 { #expect(try await root.photos.hide(post.postId).hiddenAt != nil) }

            #expect(try await ann.photos.post(post.postId).hiddenAt != nil)
            #expect(try await ann.photos.posts(of: ann.id.user).items.map(\.postId) == [post.postId])
            #expect(try await bob.photos.posts(of: ann.id.user).items == [])
            for (method, path) in [
                (.get, ""), (.get, "/comments"), (.get, "/likes"), (.put, "/like"), (.put, "/flag"),
            ] as [(HTTPRequest.Method, String)] {
                #expect(try await bob.ask(method, "/photos/posts/\(post.postId)\(path)").status == 404, "\(path)")
            }
            for testUser in [ann, bob] {
                #expect(try await testUser.photos.posts().items.map(\.postId) == [other.postId])
                #expect(try await testUser.photos.posts(tagged: "seen").items.map(\.postId) == [other.postId])
                #expect(try await testUser.photos.hashtags("h") == [])
                #expect(try await testUser.photos.hashtags("s") == [Hashtag(tag: "seen", postCount: 1)])
            }
            _ = try await ann.photos.update(post.postId, PostChanges(text: "#seen #other"))
            #expect(try await fixture.countInconsistencies() == [])

            for _ in 0..<2 { #expect(try await root.photos.restore(post.postId).hiddenAt == nil) }
            #expect(try await bob.photos.posts(tagged: "other").items.map(\.postId) == [post.postId])
            #expect(try await bob.photos.hashtags("s") == [Hashtag(tag: "seen", postCount: 2)])
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Deleting a hidden post keeps the hashtag counts exact")
    func deletedHiddenPost() async throws {
        try await withPhotos { fixture in
            let (ann, bob, root) = try await people(in: fixture)
            let post = try await fixture.post("#tag", by: ann)
            try await fixture.post("#tag", by: bob)
            try await root.photos.hide(post.postId)
            try await ann.photos.delete(post.postId)
            #expect(try await bob.photos.hashtags("tag") == [Hashtag(tag: "tag", postCount: 1)])
            #expect(try await fixture.countInconsistencies() == [])
            #expect(try await root.ask(.put, "/photos/posts/\(post.postId)/hidden").status == 404)
        }
    }

    @Test("An application's server moderates the posts of its own application")
    func applicationServer() async throws {
        try await withPhotos { fixture in
            let (ann, bob, _) = try await people(in: fixture)
            let roosts = try await fixture.post(by: ann)
            try await bob.photos.flag(roosts.postId)
            let own = try await fixture.post(by: fixture.ann)
            try await fixture.bob.photos.flag(own.postId)
            let token = try ApplicationServer(of: PhotosFixture.application, at: fixture.auth.keys).token()

            let listed = try await fixture.service.send(.get, "/photos/flags", token: token).decode(Page<Flag>.self)
            #expect(listed.items.map(\.post.postId) == [own.postId])
            let hidden = try await fixture.service.send(.put, "/photos/posts/\(own.postId)/hidden", token: token)
            #expect(hidden.status == 200)
            let others = try await fixture.service.send(.put, "/photos/posts/\(roosts.postId)/hidden", token: token)
            #expect(others.status == 404)
            #expect(try await fixture.eve.ask(.get, "/photos/posts/\(own.postId)").status == 404)
            // The server is not a user, so it cannot like a post.
            let liked = try await fixture.service.send(.put, "/photos/posts/\(own.postId)/like", token: token)
            #expect(liked.status == 403)
        }
    }

    private func people(in fixture: PhotosFixture) async throws -> (ann: TestUser, bob: TestUser, root: TestUser) {
        (
            try await fixture.account("Ann"), try await fixture.account("Bob"),
            try await fixture.account("Root", scope: "admin")
        )
    }
}
