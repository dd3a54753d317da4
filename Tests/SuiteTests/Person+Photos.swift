import AuthAPI
import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import ServiceHost
import Testing
import Wire

/// What people do with photos, as an app does it: with a key for what must not be done twice, and again until it is answered.
extension Person {
    var photos: PhotosClient { PhotosClient(service) }

    /// A photograph as a camera makes it: with the place where it was taken, and turned on its side.
    static let photograph: Data = {
        // Silence: without it every test that needs it fails.
        (try? Data(contentsOf: URL(filePath: "\(SuiteTests.root)/examples/photo.jpg"))) ?? Data()
    }()

    private struct UploadedImage: Decodable { var uploadId: String }

    /// Brings the photograph; answers the upload's id.
    func upload() async throws -> String {
        try await retrying {
            let headers: HTTPFields = [.contentType: "image/jpeg", .idempotencyKey: UUID().uuidString]
            let answer = try await service.send(
                .post,
                "/photos/uploads",
                headers: headers,
                body: Self.photograph,
                timeout: .seconds(30)
            )
            return try WireJSON.decode(UploadedImage.self, from: answer.body).uploadId
        }
    }

    /// Posts the photograph; the same text twice is one post.
    func publishPost(_ text: String) async throws -> Post {
        let draft = PostDraft(text: text, uploadIds: [try await upload()])
        let body = try WireJSON.encoder().encode(draft)
        return try await retrying {
            let answer = try await service.send(.post, "/photos/posts", headers: [.idempotencyKey: text], body: body)
            return try WireJSON.decode(Post.self, from: answer.body)
        }
    }

    /// Says something about a post; the same text twice is one comment.
    func comment(_ text: String, about post: String) async throws -> PhotosAPI.Comment {
        let body = try WireJSON.encoder().encode(CommentDraft(text: text))
        return try await retrying {
            let path = "/photos/posts/\(post)/comments"
            let answer = try await service.send(.post, path, headers: [.idempotencyKey: text], body: body)
            return try WireJSON.decode(PhotosAPI.Comment.self, from: answer.body)
        }
    }

    func like(_ post: String) async throws {
        _ = try await retrying { try await photos.like(post) }
    }

    /// Again while nobody answers, or the first try is not known to have ended.
    func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        // What was under way in a process that was killed counts as running for a minute, and is a conflict until then.
        let deadline = ContinuousClock.now + .seconds(180)
        while true {
            do {
                return try await body()
            } catch let error as APIError where error.isTransient || error.kind == .conflict {
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

extension APIError {
    /// Whether the same request may be answered otherwise a little later.
    fileprivate var isTransient: Bool {
        [.unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited].contains(kind)
    }
}
