import AuthAPI
import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import ServiceHost
import Testing
import Wire

/// Requests for photos with idempotency keys and retries, as an app sends them.
extension Person {
    var photos: PhotosClient { PhotosClient(service) }

    /// A photo from a camera, with its location and with a rotation.
    static let photograph: Data = {
        // Silence: without the file every test that needs it fails.
        (try? Data(contentsOf: URL(filePath: "\(SuiteTests.root)/examples/photo.jpg"))) ?? Data()
    }()

    private struct UploadedImage: Decodable { var uploadId: String }

    /// Uploads the photo, and returns the upload's ID.
    func upload() async throws -> String {
        try await retrying {
            let headers: HTTPFields = [.contentType: "image/jpeg", .idempotencyKey: UUID().uuidString]
            let response = try await service.send(
                .post,
                "/photos/uploads",
                headers: headers,
                body: Self.photograph,
                timeout: .seconds(30)
            )
            return try WireJSON.decode(UploadedImage.self, from: response.body).uploadId
        }
    }

    /// Publishes a post with the photo, whose text is the idempotency key.
    func publishPost(_ text: String) async throws -> Post {
        let draft = PostDraft(text: text, uploadIds: [try await upload()])
        let body = try WireJSON.encoder().encode(draft)
        return try await retrying {
            let response = try await service.send(.post, "/photos/posts", headers: [.idempotencyKey: text], body: body)
            return try WireJSON.decode(Post.self, from: response.body)
        }
    }

    /// Comments on a post, with the text as the idempotency key.
    func comment(_ text: String, about post: String) async throws -> PhotosAPI.Comment {
        let body = try WireJSON.encoder().encode(CommentDraft(text: text))
        return try await retrying {
            let path = "/photos/posts/\(post)/comments"
            let response = try await service.send(.post, path, headers: [.idempotencyKey: text], body: body)
            return try WireJSON.decode(PhotosAPI.Comment.self, from: response.body)
        }
    }

    func like(_ post: String) async throws {
        _ = try await retrying { try await photos.like(post) }
    }

    /// Repeats a request while the service is unavailable or an earlier attempt may be in progress.
    func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        // A request in a killed process counts as in progress for a minute, and conflicts until then.
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
    /// Whether the same request may succeed later.
    fileprivate var isTransient: Bool {
        [.unavailable, .badGateway, .gatewayTimeout, .timedOut, .rateLimited].contains(kind)
    }
}
