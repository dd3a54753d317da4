import Blobs
import Hummingbird
import Multipart
import NIOCore
import ServiceHost
import Wire

/// Reads an image from a request in buffers: either the whole body, or the single file of a form.
struct ImageReader {
    /// The maximum size of all form fields other than the file together, in bytes.
    private static let maximumFields = 65_536

    let request: Request
    private let boundary: String?

    /// Reads the headers.
    ///
    /// The `Content-Type` only decides how the body is read; the image format is detected from the bytes.
    ///
    /// - Throws: `unsupportedMediaType` if the body cannot be an image, `tooLarge` if `Content-Length` exceeds `limit`.
    init(_ request: Request, limit: Int64) throws {
        if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
            throw APIError(.unsupportedMediaType, "unsupported_content_encoding", "the body must not be compressed")
        }
        self.request = request
        let type = request.headers[.contentType].flatMap { FieldParameters($0) }
        switch type?.word {
        case "multipart/form-data":
            guard let boundary = type?["boundary"], MultipartParser(boundary: boundary) != nil else {
                throw APIError.invalid(
                    "Content-Type",
                    "\"Content-Type\" of a form must have a boundary of 1 to 70 characters"
                )
            }
            self.boundary = boundary
        case let word? where word.hasPrefix("image/") || word == "application/octet-stream":
            boundary = nil
            guard let length = request.headers[.contentLength].flatMap({ Int64($0) }), length > limit else { return }
            let message = "the file is too large; at most \(limit) bytes are allowed"
            throw APIError(.tooLarge, "file_too_large", message, field: "file")
        default:
            throw APIError(
                .unsupportedMediaType,
                "unsupported_media_type",
                "the body must be an image with its own type, application/octet-stream, or multipart/form-data"
            )
        }
    }

    /// - Throws: `invalid` if the body ends too early, if the form is malformed or if it does not have exactly one
    ///   file.
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
        var remainingBytes = Self.maximumFields
        while let part = try await reader.nextPart() {
            let isFile = part.fileName != nil || part.name == "file"
            guard !isFile || !hasFile else {
                throw APIError.invalid(part.name, "a form must contain exactly one file", code: "too_many_files")
            }
            hasFile = hasFile || isFile
            while let bytes = try await reader.nextContent() {
                if isFile {
                    try await sink.write(bytes)
                } else {
                    remainingBytes -= bytes.readableBytes
                    guard remainingBytes >= 0 else {
                        let message = "the form fields are too large; at most \(Self.maximumFields) bytes are allowed"
                        throw APIError(.tooLarge, "fields_too_large", message, field: part.name)
                    }
                }
            }
        }
        guard hasFile else { throw APIError.missing("file") }
    }
}
