import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Comment streams") struct CommentStreamTests {
    private func path(_ post: Post) -> String { "/photos/posts/\(post.postId)/stream" }

    @Test("Comments of an open post are sent when they are created, edited and deleted")
    func comments() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            let other = try await fixture.post("Not this one", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(stream.contentType == "text/event-stream")
                    #expect(await stream.event()?.name == "ready")
                    _ = try await fixture.bob.photos.comment("elsewhere", on: other.postId)
                    let comment = try await fixture.bob.photos.comment("Nice", on: post.postId)
                    let created = try #require(await stream.event())
                    #expect(created.name == "created")
                    #expect(created.json["commentId"].string == comment.commentId)
                    #expect(created.json["author"]["userId"].string == "bob")
                    let counts = try #require(await stream.event())
                    #expect(counts.name == "counts")
                    #expect(
                        counts.json
                            == .object(["likeCount": .integer(0), "isLiked": .bool(false), "commentCount": .integer(1)])
                    )

                    _ = try await fixture.bob.photos.update(comment.commentId, on: post.postId, to: "Very nice")
                    let edited = try #require(await stream.event())
                    #expect(edited.name == "edited")
                    #expect(edited.json["text"].string == "Very nice")

                    try await fixture.bob.photos.delete(comment.commentId, on: post.postId)
                    let deleted = try #require(await stream.event())
                    #expect(deleted.name == "deleted")
                    #expect(deleted.json == .object(["commentId": .string(comment.commentId)]))
                    #expect(await stream.event()?.json["commentCount"].int == 0)
                }
            }
        }
    }

    @Test("A like changes the counts of an open post")
    func likes() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await fixture.eve.photos.like(post.postId)
                    let counts = try #require(await stream.event())
                    #expect(counts.name == "counts")
                    #expect(
                        counts.json
                            == .object(["likeCount": .integer(1), "isLiked": .bool(true), "commentCount": .integer(0)])
                    )
                }
            }
        }
    }

    @Test("A reader that reconnects receives the comments that it missed, by header field or by parameter")
    func resuming() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                let last = try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) {
                    stream in
                    try #require(await stream.event()?.id)
                }
                let edited = try await fixture.bob.photos.comment("one", on: post.postId)
                _ = try await fixture.bob.photos.update(edited.commentId, on: post.postId, to: "once")
                let gone = try await fixture.bob.photos.comment("two", on: post.postId)
                try await fixture.bob.photos.delete(gone.commentId, on: post.postId)
                _ = try await fixture.bob.photos.comment("three", on: post.postId)

                for parameter in ["", "?lastEventId=\(last)"] {
                    try await EventStreamClient.with(
                        port: port,
                        path(post) + parameter,
                        token: fixture.eve.token,
                        after: parameter.isEmpty ? last : nil
                    ) { stream in
                        let ready = try #require(await stream.event())
                        #expect(ready.name == "ready")
                        #expect(ready.id == last)
                        var texts: [String] = []
                        while texts.last != "three" {
                            let event = try #require(await stream.event())
                            #expect(["created", "edited", "deleted", "counts"].contains(event.name))
                            if let text = event.json["text"].string { texts.append(text) }
                        }
                        #expect(texts.contains("once"))
                    }
                }
            }
        }
    }

    @Test("The stream ends when the post is deleted, and cannot be opened again")
    func deletion() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await fixture.ann.photos.delete(post.postId)
                    let gone = try #require(await stream.event())
                    #expect(gone.name == "gone")
                    #expect(gone.json == .object(["postId": .string(post.postId)]))
                    #expect(await stream.event() == nil)
                }
            }
            let again = try await fixture.eve.ask(.get, path(post))
            #expect(again.status == 404)
            #expect(again.problem?.code == "post_not_found")
        }
    }

    @Test("The stream ends for a reader when the author blocks the reader, and omits comments of blocked users")
    func blocks() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            try await fixture.set(blocked: true, fixture.bob, by: fixture.eve)
            // The change of Eve's home feed must be numbered before the stream begins.
            _ = try await fixture.bob.photos.update(ProfileChanges())
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    _ = try await fixture.bob.photos.comment("not for Eve", on: post.postId)
                    #expect(await stream.event()?.name == "counts")
                    try await fixture.set(blocked: true, fixture.eve, by: fixture.ann)
                    // A block from another service does not make the stream read its change; this request does.
                    _ = try await fixture.bob.photos.update(ProfileChanges())
                    #expect(await stream.event()?.name == "gone")
                    #expect(await stream.event() == nil)
                }
            }
            #expect(try await fixture.eve.ask(.get, path(post)).status == 404)
        }
    }

    @Test("A hidden post ends the streams of others")
    func hiding() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    _ = try await fixture.moderator().hide(post.postId)
                    #expect(await stream.event()?.name == "gone")
                    #expect(await stream.event() == nil)
                }
            }
        }
    }

    @Test("A row without the comment's number, as the previous release writes it, makes the reader reload")
    func previousRelease() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("Look!", by: fixture.ann)
            // The stream must not begin with the change of the new post itself.
            try await eventually { try await fixture.rows("SELECT '' AS row FROM pending_changes").isEmpty }
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, path(post), token: fixture.eve.token) { stream in
                    #expect(await stream.event()?.name == "ready")
                    try await fixture.service.database.pool.run(
                        """
                        INSERT INTO pending_changes (application_id, kind, author_id, number)
                        SELECT application_id, 'comment.created', author_id, number FROM posts
                        """
                    )
                    let reload = try #require(await stream.event())
                    #expect(reload.name == "reload")
                    #expect(reload.json["reason"].string == "too_old")
                }
            }
        }
    }

    @Test("A post that the user does not see has no stream", arguments: ["7-7", "x", "0-1"])
    func unknownPost(id: String) async throws {
        try await withPhotos { fixture in
            let response = try await fixture.ann.ask(.get, "/photos/posts/\(id)/stream")
            #expect(response.status == 404)
            #expect(response.problem?.code == "post_not_found")
        }
    }
}
