import Blobs
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import Wire

/// Files that were brought to photos before, by which a post names them.
struct AttachedUploads: Sendable {
    let photos: ServiceClient

    /// - Parameters:
    ///   - brought: the upload.
    ///   - asker: whose it has to be.
    ///   - element: `photo` or `video`.
    /// - Returns: the upload as it goes to networks.
    /// - Throws: `invalid`, naming the field, for an upload that is not the asker's or is gone.
    func file(_ attachment: FeedDraft.Attachment, for caller: Caller, as element: String) async throws -> OutgoingMedia
    {
        let field = "data.\(element)"
        let client = photos.authorized(as: caller.credential)
        let upload: Upload
        do {
            upload = try await client.get("/photos/uploads/\(ServiceClient.percentEncoded(attachment.uploadId))")
        } catch let error as APIError where error.kind == .notFound {
            throw APIError.invalid("\(field).uploadId", "there is no such upload", code: "upload_not_found")
        }
        guard let path = URLComponents(string: upload.url)?.percentEncodedPath else { throw APIError.internal }
        let bytes = ByteBuffer(bytes: try await client.send(.get, path, timeout: .seconds(10)).body)
        let type = Self.type(of: bytes)
        let prefix = element == "photo" ? "image/" : "video/"
        guard type.hasPrefix(prefix) else {
            throw APIError(.unsupportedMediaType, "unsupported_media_type", "the \(element) is none", field: field)
        }
        return OutgoingMedia(
            bytes: bytes,
            type: type,
            width: upload.width,
            height: upload.height,
            alt: attachment.alt,
            upload: attachment.uploadId,
            url: upload.url
        )
    }

    /// What bytes are, by themselves.
    static func type(of bytes: ByteBuffer) -> String {
        var detector = MediaTypeDetector()
        detector.feed(bytes)
        return detector.mediaType
    }
}
