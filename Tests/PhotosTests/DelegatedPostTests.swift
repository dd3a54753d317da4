import AuthAPI
import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Posts that another service creates for a user in the background.
@Suite("Delegated posts") struct DelegatedPostTests {
    @Test("Eight concurrent requests with one key create one post")
    func concurrentDuplicates() async throws {
        try await withUploads { fixture async throws in
            let delegatedPosts = try fixture.delegatedPosts
            let upload = try await delegatedPosts.upload(
                Data(SampleImage.png(40, 30)),
                as: "image/png",
                for: fixture.ann.id
            )
            let image = ImageDraft(uploadId: upload.uploadId, alt: "a dot")
            let request = DelegatedPostRequest(
                for: fixture.ann.id,
                key: UUID(),
                PostDraft(text: "from #afar", images: [image])
            )

            let made = try await withThrowingTaskGroup(of: DelegatedPost.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await delegatedPosts.create(request) } }
                return try await tasks.reduce(into: Set()) { $0.insert($1) }
            }

            let post = try await fixture.bob.photos.post(try #require(made.first).postId)
            #expect(made.count == 1)
            #expect(post.author.userId == "ann")
            #expect(post.text == "from #afar")
            #expect(post.images.map(\.alt) == ["a dot"])
            #expect(try await fixture.bob.photos.posts().items.count == 1)
            #expect(try await delegatedPosts.find(request.key, of: fixture.ann.id) == made.first)
            #expect(try await fixture.fixture.countInconsistencies() == [])
        }
    }

    @Test("A repeated request does not restore a deleted post")
    func deletedPost() async throws {
        try await withUploads { fixture async throws in
            let delegatedPosts = try fixture.delegatedPosts
            let upload = try await delegatedPosts.upload(
                Data(SampleImage.png(40, 30)),
                as: "image/png",
                for: fixture.ann.id
            )
            let request = DelegatedPostRequest(
                for: fixture.ann.id,
                key: UUID(),
                PostDraft(uploadIds: [upload.uploadId])
            )
            let made = try await delegatedPosts.create(request)
            try await fixture.ann.photos.delete(made.postId)

            #expect(try await delegatedPosts.create(request) == made)
            #expect(try await fixture.bob.photos.posts().items.isEmpty)
        }
    }

    @Test("The same key of two users creates two posts")
    func keyPerUser() async throws {
        try await withUploads { fixture async throws in
            let delegatedPosts = try fixture.delegatedPosts
            var made: [DelegatedPost] = []
            let key = UUID()
            for testUser in [fixture.ann, fixture.bob] {
                let upload = try await delegatedPosts.upload(
                    Data(SampleImage.png(40, 30)),
                    as: "image/png",
                    for: testUser.id
                )
                let draft = PostDraft(uploadIds: [upload.uploadId])
                made.append(try await delegatedPosts.create(DelegatedPostRequest(for: testUser.id, key: key, draft)))
            }

            #expect(made[0] != made[1])
            #expect(try await delegatedPosts.find(key, of: fixture.bob.id) == made[1])
            await #expect(throws: APIError.self) { try await delegatedPosts.find(key, of: fixture.fixture.eve.id) }
        }
    }

    @Test("A key can be used again after a rejected request")
    func retryAfterError() async throws {
        try await withUploads { fixture async throws in
            let delegatedPosts = try fixture.delegatedPosts
            let key = UUID()
            let stranger = try await delegatedPosts.upload(
                Data(SampleImage.png(40, 30)),
                as: "image/png",
                for: fixture.bob.id
            )
            let own = try await delegatedPosts.upload(
                Data(SampleImage.png(40, 30)),
                as: "image/png",
                for: fixture.ann.id
            )
            func request(_ upload: Upload) async throws -> DelegatedPost {
                try await delegatedPosts.create(
                    DelegatedPostRequest(for: fixture.ann.id, key: key, PostDraft(uploadIds: [upload.uploadId]))
                )
            }

            await #expect(throws: APIError(.notFound, "upload_not_found", "there is no such upload")) {
                try await request(stranger)
            }
            #expect(try await fixture.bob.photos.post(try await request(own).postId).author.userId == "ann")
        }
    }

    @Test("A request with text only creates one post without images")
    func textAlone() async throws {
        try await withUploads { fixture async throws in
            let request = DelegatedPostRequest(
                for: fixture.ann.id,
                key: UUID(),
                PostDraft(text: "from afar", images: [])
            )

            let made = try await fixture.delegatedPosts.create(request)
            let again = try await fixture.delegatedPosts.create(request)

            let post = try await fixture.bob.photos.post(made.postId)
            #expect(again == made)
            #expect(post.text == "from afar")
            #expect(post.images.isEmpty)
            #expect(try await fixture.bob.photos.posts().items.map(\.postId) == [made.postId])

            let emptied = try await fixture.ann.ask(.patch, "/photos/posts/\(made.postId)", #"{"text": ""}"#)
            #expect(emptied.status == 400)
            #expect(emptied.problem?.code == "post_empty")
        }
    }

    @Test("A user cannot use the internal routes")
    func internalOnly() async throws {
        try await withUploads { fixture async throws in
            for path in ["/internal/posts", "/internal/uploads?application=other&userId=ann"] {
                #expect(try await fixture.ann.ask(.post, path, "{}").status == 403)
            }
        }
    }

    @Test("Account deletion removes the keys")
    func accountDeletion() async throws {
        try await withUploads { fixture async throws in
            let delegatedPosts = try fixture.delegatedPosts
            let upload = try await delegatedPosts.upload(
                Data(SampleImage.png(40, 30)),
                as: "image/png",
                for: fixture.ann.id
            )
            let request = DelegatedPostRequest(
                for: fixture.ann.id,
                key: UUID(),
                PostDraft(uploadIds: [upload.uploadId])
            )
            _ = try await delegatedPosts.create(request)

            try await fixture.fixture.deliver(
                UserDeleted(applicationId: PhotosFixture.application, userId: "ann"),
                by: "auth"
            )

            try await eventually(within: .seconds(60)) { try await fixture.count("delegated_posts") == 0 }
        }
    }
}

extension UploadFixture {
    fileprivate var delegatedPosts: DelegatedPostsClient {
        get throws { DelegatedPostsClient(try fixture.service.peerClient("social", callee: "photos")) }
    }
}
