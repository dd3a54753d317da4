import Blobs
import ConversationsAPI
import Foundation
import Hummingbird
import Multipart
import NIOCore
import ServiceHost
import Wire

/// The format of a message's request body: JSON, a form with a file, or the file itself.
enum MessageBody {
    case json
    case form(boundary: String)
    case file

    /// Detects the format from `Content-Type`; a body without the header is JSON.
    init(_ request: Request) throws {
        if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
            // Decompression could produce any size, and the compressed bytes must not be stored as the file.
            throw APIError(.unsupportedMediaType, "unsupported_content_encoding", "the body must not be compressed")
        }
        guard let header = request.headers[.contentType] else {
            self = .json
            return
        }
        guard let type = FieldParameters(header), type.word.dropFirst().dropLast().contains("/") else {
            throw Self.unsupported
        }
        switch type.word {
        case "multipart/form-data":
            guard let boundary = type["boundary"], MultipartParser(boundary: boundary) != nil else {
                throw APIError.invalid("Content-Type", "a form must have a boundary of 1 to 70 characters")
            }
            self = .form(boundary: boundary)
        // A form without a file; curl sends this type for any body unless another type is set.
        case "application/x-www-form-urlencoded": throw Self.unsupported
        case _ where type.word.hasPrefix("multipart/"): throw Self.unsupported
        case "application/json": self = .json
        case _ where type.word.hasSuffix("+json"): self = .json
        default: self = .file
        }
    }

    private static let unsupported = APIError(
        .unsupportedMediaType,
        "unsupported_media_type",
        "the body must be application/json, multipart/form-data, or a file with its own type"
    )
}

/// Reads uploaded files from request bodies, one buffer at a time.
struct UploadReader {
    let request: Request
    let limit: Int64

    /// Stores the body as a file; the query has the message's fields, and the query or `Content-Disposition` the name.
    func file(into receiver: FileReceiver, fields: UploadFields) async throws -> ReceivedFile {
        let draft = try fields.draft()
        let stored = try await receiver.store { sink in
            for try await bytes in UploadBody(request) { try await sink.write(bytes) }
        }
        let disposition = request.headers[.contentDisposition].flatMap { FieldParameters($0) }
        return ReceivedFile(draft: draft, name: fields.fileName ?? disposition?["filename"], stored: stored)
    }

    /// Stores the only file of a form, whose other fields may precede or follow the file.
    func form(boundary: String, into receiver: FileReceiver) async throws -> ReceivedFile {
        do {
            return try await parts(boundary, receiver)
        } catch let error as MultipartError {
            throw APIError(form: error)
        }
    }

    /// Returns the query's parameters, which are the fields of a file without a form.
    func queryFields() throws -> UploadFields {
        var fields = UploadFields()
        for (name, value) in request.uri.queryParameters { try fields.set(String(name), String(value)) }
        return fields
    }

    /// Rejects a file whose `Content-Length` exceeds the limit, before reading a byte.
    func checkLength() throws {
        guard case .file = try MessageBody(request),
            let length = request.headers[.contentLength].flatMap({ Int64($0) }),
            length > limit
        else { return }
        throw Files.tooLarge(limit, field: "file")
    }

    private func parts(_ boundary: String, _ receiver: FileReceiver) async throws -> ReceivedFile {
        guard let parser = MultipartParser(boundary: boundary) else { throw APIError.missing("boundary") }
        var reader = MultipartReader(parser, UploadBody(request))
        var fields = UploadFields()
        var file: (stored: StoredBlob, name: String?)?
        var remainingBytes = UploadFields.maximumBytes
        while let part = try await reader.nextPart() {
            if part.fileName != nil || part.name == "file" {
                guard file == nil else {
                    throw APIError.invalid(part.name, "a message may have at most one file", code: "too_many_files")
                }
                let stored = try await receiver.store { sink in
                    while let bytes = try await reader.nextContent() { try await sink.write(bytes) }
                }
                file = (stored, part.fileName)
            } else {
                try fields.set(part.name, try await Self.text(of: part.name, &reader, &remainingBytes))
            }
        }
        guard let file else { throw APIError.missing("file") }
        return ReceivedFile(draft: try fields.draft(), name: fields.fileName ?? file.name, stored: file.stored)
    }

    private static func text(
        of name: String,
        _ reader: inout MultipartReader<UploadBody>,
        _ remainingBytes: inout Int
    ) async throws -> String {
        var text = ByteBuffer()
        while let bytes = try await reader.nextContent() {
            remainingBytes -= bytes.readableBytes
            guard remainingBytes >= 0 else {
                throw APIError(
                    .tooLarge,
                    "fields_too_large",
                    "the fields may have at most \(UploadFields.maximumBytes) bytes in total",
                    field: name
                )
            }
            text.writeImmutableBuffer(bytes)
        }
        guard let text = String(validating: text.readableBytesView, as: UTF8.self) else {
            throw APIError.invalid(name, "\"\(name)\" must be UTF-8", code: "malformed_field")
        }
        return text
    }
}
