import Blobs
import Hummingbird
import Multipart
import NIOCore
import ServiceHost
import Wire

/// Reads an image out of a request, a buffer at a time: the body as it is, or the one file of a form.
struct ImageReader {
    /// What the parts of a form besides the file may have together, in bytes.
    private static let maximumFields = 65_536

    let request: Request
    private let boundary: String?

    /// By the `Content-Type`, which says no more than how to read it: what the bytes are, they say themselves.
    ///
    /// - Throws: `unsupportedMediaType` for what can be no image, `tooLarge` for what is announced to be.
    init(_ request: Request, limit: Int64) throws {
        if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
            throw APIError(.unsupportedMediaType, "unsupported_content_encoding", "the body must not be compressed")
        }
        self.request = request
        let type = request.headers[.contentType].flatMap { FieldParameters($0) }
        switch type?.word {
        case "multipart/form-data":
            guard let boundary = type?["boundary"], MultipartParser(boundary: boundary) != nil else {
                throw APIError.invalid("Content-Type", "a form has a boundary of 1 to 70 characters")
            }
            self.boundary = boundary
        case let word? where word.hasPrefix("image/") || word == "application/octet-stream":
            boundary = nil
            guard let length = request.headers[.contentLength].flatMap({ Int64($0) }), length > limit else { return }
            throw APIError(.tooLarge, "file_too_large", "an image may have \(limit) bytes here", field: "file")
        default:
            throw APIError(
                .unsupportedMediaType,
                "unsupported_media_type",
                "the body must be an image with its own type, application/octet-stream, or multipart/form-data"
            )
        }
    }

    /// - Throws: `invalid` for a body that ends too early, and a form that is none or has not one file.
    func read(into sink: any BlobSink) async throws {
        guard let boundary, let parser = MultipartParser(boundary: boundary) else {
            for try await bytes in UploadBody(request) { try await sink.write(bytes) }
            return
        }
        do {
            try await readForm(MultipartReader(parser, UploadBody(request)), into: sink)
        } catch let error as MultipartError {
            throw APIError(form: error)
        }
    }

    private func readForm(_ reader: MultipartReader<UploadBody>, into sink: any BlobSink) async throws {
        var reader = reader
        var hasFile = false
        var room = Self.maximumFields
        while let part = try await reader.nextPart() {
            let isFile = part.fileName != nil || part.name == "file"
            guard !isFile || !hasFile else {
                throw APIError.invalid(part.name, "an upload is one image", code: "too_many_files")
            }
            hasFile = hasFile || isFile
            while let bytes = try await reader.nextContent() {
                if isFile {
                    try await sink.write(bytes)
                } else {
                    room -= bytes.readableBytes
                    guard room >= 0 else {
                        throw APIError(.tooLarge, "fields_too_large", "the fields are too large", field: part.name)
                    }
                }
            }
        }
        guard hasFile else { throw APIError.missing("file") }
    }
}
