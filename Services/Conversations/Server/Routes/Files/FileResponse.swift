import Blobs
import Hummingbird
import ServiceHost

/// The response with a file: images, audio, video and plain text are shown, other files are downloaded.
struct FileResponse {
    let file: OpenedFile
    /// The number of seconds for which the link remains valid.
    let lifetime: Int

    func response(to request: Request, context: SuiteContext) async throws -> Response {
        let reply = BlobResponse(
            eTag: "\"\(file.key.blob)\"",
            size: file.blob.size,
            cacheControl: "private, max-age=\(lifetime), immutable",
            mediaType: mediaType,
            disposition: FileName.disposition(isShown ? "inline" : "attachment", name: name)
        )
        return try await reply.response(to: request, requestID: context.requestID) { file.blob }
    }

    private var mediaType: String { file.content.mediaType }
    private var name: String { file.content.reference.name ?? "file" }

    private var isShown: Bool {
        mediaType == MediaTypeDetector.text || ["image/", "audio/", "video/"].contains { mediaType.hasPrefix($0) }
    }
}
