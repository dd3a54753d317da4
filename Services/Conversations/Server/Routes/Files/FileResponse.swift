import Blobs
import Hummingbird
import ServiceHost

/// A file as an answer: images, sound, video and plain text are shown, all else is saved.
struct FileResponse {
    let file: OpenedFile
    /// For how many seconds the link will open it.
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
