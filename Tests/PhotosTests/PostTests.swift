import Foundation
import HTTPTypes
import PhotosAPI
import ServiceHost
import TestSupport
import Testing
import Wire

@Suite("Posts") struct PostTests {
    @Test("A new post has its text, images, hashtags and zero counts, and others read the same")
    func createAndRead() async throws {
        try await withPhotos { fixture in
            let uploads = try await fixture.uploads(2, of: fixture.ann)
            let draft = PostDraft(
                text: "Dawn at #Ōsaka, #dawn",
                images: [ImageDraft(uploadId: uploads[0], alt: "a harbour"), ImageDraft(uploadId: uploads[1])]
            )

            let post = try await fixture.ann.photos.post(draft)

            #expect(post.text == "Dawn at #Ōsaka, #dawn")
            #expect(post.author == Author(userId: "ann", fullName: "ann"))
            #expect(post.images.map(\.alt) == ["a harbour", nil])
            #expect(post.images.allSatisfy { $0.url.hasPrefix("http://127.0.0.1:8080/media/") })
            #expect(post.images.allSatisfy { $0.width > 0 })
            #expect(Set(post.images.flatMap { [$0.url, $0.thumbnailUrl] }).count == 4)
            #expect(post.hashtags == ["ōsaka", "dawn"])
            #expect(post.likeCount == 0)
            #expect(post.commentCount == 0)
            #expect(!post.isLiked)
            #expect(post.recentComments.isEmpty)
            #expect(abs(post.timestamp.timeIntervalSinceNow) < 60)
            #expect(post.editedAt == nil)
            #expect(post.hiddenAt == nil)
            #expect(try await fixture.bob.photos.post(post.postId) == post)
        }
    }

    @Test("Missing values of a post are null, and empty ones are empty")
    func nulls() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post(by: fixture.ann)
            let response = try await fixture.bob.ask(.get, "/photos/posts/\(post.postId)").json
            guard case .object(let author) = response["author"], case .object(let image) = response["images"][0] else {
                Issue.record("a post has an author and images: \(response)")
                return
            }
            #expect(author["profilePicture"] == .null)
            #expect(image["alt"] == .null)
            #expect(response["text"] == .string(""))
            #expect(response["hashtags"] == .array([]))
        }
    }

    @Test(
        "A client's post without images is rejected",
        arguments: [#"{"text": "words"}"#, #"{"text": "words", "images": []}"#]
    )
    func textAlone(draft: String) async throws {
        try await withPhotos { fixture in
            let created = try await fixture.ann.ask(.post, "/photos/posts", draft)

            #expect(created.status == 400)
            #expect(created.problem?.code == "missing_field")
            #expect(try await fixture.bob.photos.posts().items.isEmpty)
        }
    }

    @Test("A used upload responds 409, and another user's upload 404")
    func uploadReuse() async throws {
        try await withPhotos { fixture in
            let uploads = try await fixture.uploads(2, of: fixture.ann)
            _ = try await fixture.ann.photos.post(PostDraft(uploadIds: [uploads[0]]))

            let again = try await fixture.ann.ask(.post, "/photos/posts", #"{"uploadIds": ["\#(uploads[0])"]}"#)
            #expect(again.status == 409)
            let others = try await fixture.bob.ask(.post, "/photos/posts", #"{"uploadIds": ["\#(uploads[1])"]}"#)
            #expect(others.status == 404)

            #expect(try await fixture.ann.photos.posts().items.count == 1)
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Of eight concurrent posts with one upload, one succeeds")
    func concurrentUploadUse() async throws {
        try await withPhotos { fixture in
            let upload = try await fixture.uploads(1, of: fixture.ann)[0]
            let body = #"{"uploadIds": ["\#(upload)"]}"#

            let answers = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await fixture.ann.ask(.post, "/photos/posts", body).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }

            #expect(answers.sorted() == [200] + Array(repeating: 409, count: 7))
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Concurrent posts of one user are numbered without gaps in the order of their times")
    func numbering() async throws {
        try await withPhotos { fixture in
            let uploads = try await fixture.uploads(12, of: fixture.ann)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for upload in uploads {
                    group.addTask { _ = try await fixture.ann.photos.post(PostDraft(uploadIds: [upload])) }
                }
                try await group.waitForAll()
            }

            let order = try await fixture.rows("SELECT number::text AS row FROM posts ORDER BY created_at, number")
            #expect(order == (1...12).map { "\($0)" })
            let listed = try await fixture.bob.photos.posts(of: "ann").items.map(\.postId)
            #expect(listed == (try await fixture.bob.photos.posts().items.map(\.postId)))
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("An update changes only the fields that are sent, and the hashtags with the text")
    func partialUpdate() async throws {
        try await withPhotos { fixture in
            let uploads = try await fixture.uploads(2, of: fixture.ann)
            let made = try await fixture.ann.photos.post(
                PostDraft(text: "#one #two", images: uploads.map { ImageDraft(uploadId: $0, alt: "x") })
            )

            let edited = try await fixture.ann.photos.update(made.postId, PostChanges(text: "#two #three"))
            #expect(edited.text == "#two #three")
            #expect(edited.hashtags == ["two", "three"])
            #expect(edited.images == made.images)
            #expect(edited.editedAt != nil)
            #expect(edited.timestamp == made.timestamp)

            let changes = PostChanges(images: [ImageChanges(alt: .cleared), ImageChanges()])
            let described = try await fixture.ann.photos.update(made.postId, changes)
            #expect(described.images.map(\.alt) == [nil, "x"])
            #expect(described.text == "#two #three")

            let found = try await fixture.bob.photos.hashtags("t")
            #expect(found == [Hashtag(tag: "three", postCount: 1), Hashtag(tag: "two", postCount: 1)])
            #expect(try await fixture.bob.photos.hashtags("one") == [])
            #expect(try await fixture.bob.photos.posts(tagged: "one").items == [])
            #expect(try await fixture.bob.photos.posts(tagged: "#THREE").items.map(\.postId) == [made.postId])
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("An update without a change does not mark the post as edited")
    func unchangedUpdate() async throws {
        try await withPhotos { fixture in
            let made = try await fixture.post("same", by: fixture.ann)
            #expect(try await fixture.ann.photos.update(made.postId, PostChanges(text: "same")) == made)
            #expect(try await fixture.ann.photos.update(made.postId, PostChanges()) == made)
        }
    }

    @Test("Deleting a post removes its comments, likes, flags and hashtags")
    func delete() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("#gone", by: fixture.ann)
            let comment = try await fixture.bob.photos.comment("nice", on: post.postId)
            try await fixture.bob.photos.like(post.postId)
            try await fixture.bob.photos.flag(post.postId)
            try await fixture.eve.photos.flag(comment.commentId, on: post.postId)

            try await fixture.ann.photos.delete(post.postId)

            for path in ["", "/comments", "/likes"] {
                #expect(try await fixture.ann.ask(.get, "/photos/posts/\(post.postId)\(path)").status == 404)
            }
            #expect(try await fixture.ann.ask(.delete, "/photos/posts/\(post.postId)").status == 404)
            #expect(try await fixture.bob.photos.posts().items == [])
            #expect(try await fixture.bob.photos.hashtags("gone") == [])
            try await eventually {
                let left = try await fixture.rows(
                    """
                    SELECT (SELECT count(*) FROM posts) + (SELECT count(*) FROM post_images)
                        + (SELECT count(*) FROM post_hashtags) + (SELECT count(*) FROM hashtags)
                        + (SELECT count(*) FROM comments) + (SELECT count(*) FROM likes) + (SELECT count(*) FROM flags)
                        + (SELECT count(*) FROM flagged_items) + (SELECT count(*) FROM deleted_posts) || '' AS row
                    """
                )
                return left == ["0"]
            }
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("The id of a deleted post is not used again")
    func numberReuse() async throws {
        try await withPhotos { fixture in
            let first = try await fixture.post(by: fixture.ann)
            try await fixture.ann.photos.delete(first.postId)
            let second = try await fixture.post(by: fixture.ann)
            #expect(second.postId != first.postId)
        }
    }

    @Test("A repeated request with the same idempotency key creates one post")
    func idempotencyKey() async throws {
        try await withPhotos { fixture in
            let upload = try await fixture.uploads(1, of: fixture.ann)[0]
            let headers: HTTPFields = [.idempotencyKey: "k"]
            let body = #"{"uploadIds": ["\#(upload)"]}"#

            let first = try await fixture.ann.ask(.post, "/photos/posts", body, headers: headers)
            let second = try await fixture.ann.ask(.post, "/photos/posts", body, headers: headers)

            #expect(first.status == 200)
            #expect(second.body == first.body)
            #expect(try await fixture.ann.photos.posts().items.count == 1)
        }
    }

    /// A process that is killed leaves both rows or neither.
    @Test("The idempotency key and its result are written in one transaction", arguments: ["posts", "comments"])
    func atomicIdempotency(table: String) async throws {
        try await withPhotos { fixture in
            let headers: HTTPFields = [.idempotencyKey: "k"]
            if table == "posts" {
                let upload = try await fixture.uploads(1, of: fixture.ann)[0]
                _ = try await fixture.ann.ask(
                    .post,
                    "/photos/posts",
                    #"{"uploadIds": ["\#(upload)"]}"#,
                    headers: headers
                )
            } else {
                let path = "/photos/posts/\(try await fixture.post(by: fixture.ann).postId)/comments"
                _ = try await fixture.ann.ask(.post, path, #"{"text": "Nice"}"#, headers: headers)
            }
            let transactions = try await fixture.rows(
                "SELECT xmin::text AS row FROM idempotency_keys UNION SELECT xmin::text FROM \(table)"
            )
            #expect(transactions.count == 1)
        }
    }
}
