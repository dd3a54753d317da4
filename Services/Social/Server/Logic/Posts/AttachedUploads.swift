import Blobs
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import Wire

/// Loads uploads in photos that a post refers to.
struct AttachedUploads: Sendable {
    let photos: ServiceClient

    /// Returns an upload as a file for networks.
    ///
    /// - Parameters:
    ///   - attachment: The reference to the upload.
    ///   - caller: The user, who must own the upload.
    ///   - element: `photo` or `video`.
    /// - Returns: The file with its type, size and URL.
    /// - Throws: `upload_not_found`, naming the field, if the upload does not exist or belongs to another user;
    ///   `unsupported_media_type` if the file is not a photo or video.
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
            throw APIError(
                .unsupportedMediaType,
                "unsupported_media_type",
                "the upload is not a \(element)",
                field: field
            )
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

    static func type(of bytes: ByteBuffer) -> String {
        var detector = MediaTypeDetector()
        detector.feed(bytes)
        return detector.mediaType
    }
}
