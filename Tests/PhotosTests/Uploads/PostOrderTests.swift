import AuthAPI
import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// What another service posts for somebody who is not there to ask himself.
@Suite struct PostOrderTests {
    @Test func anOrderIsOnePostHoweverOftenItComes() async throws {
        try await withUploads { scene async throws in
            let orders = try scene.orders
            let upload = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: scene.ann.id)
            let image = ImageDraft(uploadId: upload.uploadId, alt: "a dot")
            let order = PostOrder(for: scene.ann.id, key: UUID(), PostDraft(text: "from #afar", images: [image]))

            let made = try await withThrowingTaskGroup(of: OrderedPost.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await orders.order(order) } }
                return try await tasks.reduce(into: Set()) { $0.insert($1) }
            }

            let post = try await scene.bob.photos.post(try #require(made.first).postId)
            #expect(made.count == 1)
            #expect(post.author.userId == "ann" && post.text == "from #afar" && post.images.map(\.alt) == ["a dot"])
            #expect(try await scene.bob.photos.posts().things.count == 1)
            #expect(try await orders.find(order.key, of: scene.ann.id) == made.first)
            #expect(try await scene.scene.miscounted() == [])
        }
    }

    @Test func aPostThatIsGoneIsNotMadeAgain() async throws {
        try await withUploads { scene async throws in
            let orders = try scene.orders
            let upload = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: scene.ann.id)
            let order = PostOrder(for: scene.ann.id, key: UUID(), PostDraft(uploadIds: [upload.uploadId]))
            let made = try await orders.order(order)
            try await scene.ann.photos.delete(made.postId)

            #expect(try await orders.order(order) == made)
            #expect(try await scene.bob.photos.posts().things.isEmpty)
        }
    }

    @Test func aKeyIsItsOwnersAlone() async throws {
        try await withUploads { scene async throws in
            let orders = try scene.orders
            var made: [OrderedPost] = []
            let key = UUID()
            for player in [scene.ann, scene.bob] {
                let upload = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: player.id)
                let draft = PostDraft(uploadIds: [upload.uploadId])
                made.append(try await orders.order(PostOrder(for: player.id, key: key, draft)))
            }

            #expect(made[0] != made[1])
            #expect(try await orders.find(key, of: scene.bob.id) == made[1])
            await #expect(throws: APIError.self) { try await orders.find(key, of: scene.scene.eve.id) }
        }
    }

    @Test func whatIsRefusedMayBeOrderedAgain() async throws {
        try await withUploads { scene async throws in
            let orders = try scene.orders
            let key = UUID()
            let stranger = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: scene.bob.id)
            let own = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: scene.ann.id)
            func order(_ upload: Upload) async throws -> OrderedPost {
                try await orders.order(PostOrder(for: scene.ann.id, key: key, PostDraft(uploadIds: [upload.uploadId])))
            }

            await #expect(throws: APIError(.notFound, "upload_not_found", "there is no such upload")) {
                try await order(stranger)
            }
            #expect(try await scene.bob.photos.post(try await order(own).postId).author.userId == "ann")
        }
    }

    @Test("An order of text alone becomes one post without images")
    func textAlone() async throws {
        try await withUploads { scene async throws in
            let order = PostOrder(for: scene.ann.id, key: UUID(), PostDraft(text: "from afar", images: []))

            let made = try await scene.orders.order(order)
            let again = try await scene.orders.order(order)

            let post = try await scene.bob.photos.post(made.postId)
            #expect(again == made)
            #expect(post.text == "from afar")
            #expect(post.images.isEmpty)
            #expect(try await scene.bob.photos.posts().things.map(\.postId) == [made.postId])

            let emptied = try await scene.ann.ask(.patch, "/photos/posts/\(made.postId)", #"{"text": ""}"#)
            #expect(emptied.status == 400)
            #expect(emptied.problem?.code == "post_empty")
        }
    }

    @Test func onlyServicesOrder() async throws {
        try await withUploads { scene async throws in
            for path in ["/internal/posts", "/internal/uploads?application=other&userId=ann"] {
                #expect(try await scene.ann.ask(.post, path, "{}").status == 403)
            }
        }
    }

    @Test func whoLeavesTakesHisOrdersAlong() async throws {
        try await withUploads { scene async throws in
            let orders = try scene.orders
            let upload = try await orders.upload(Data(SampleImage.png(40, 30)), as: "image/png", for: scene.ann.id)
            let order = PostOrder(for: scene.ann.id, key: UUID(), PostDraft(uploadIds: [upload.uploadId]))
            _ = try await orders.order(order)

            try await scene.scene.tell(UserDeleted(applicationId: Scene.application, userId: "ann"), by: "auth")

            try await eventually(within: .seconds(60)) { try await scene.count("post_orders") == 0 }
        }
    }
}

extension UploadScene {
    fileprivate var orders: PostOrdersClient {
        get throws { PostOrdersClient(try scene.service.neighbour("social", callee: "photos")) }
    }
}
