import Blobs
import ConversationsAPI
import Foundation
import Hummingbird
import Multipart
import NIOCore
import ServiceHost
import Wire

/// The body of a request that says something: JSON, a form with a file in it, or the file itself.
enum MessageBody {
    case json
    case form(boundary: String)
    case file

    /// By the `Content-Type`; without one it is JSON, as everywhere.
    init(_ request: Request) throws {
        if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
            // Neither unpacked, since it could unpack to any size, nor kept as it is, since it would be taken for the file.
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
                throw APIError.invalid("Content-Type", "a form has a boundary of 1 to 70 characters")
            }
            self = .form(boundary: boundary)
        // A form without a file in it: what curl says of any body unless it is told.
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

/// Reads files out of requests, a buffer at a time.
struct UploadReader {
    let request: Request
    let limit: Int64

    /// A file as it is; what goes with it stands in the query, its name there or in `Content-Disposition`.
    func file(into receiver: FileReceiver, fields: UploadFields) async throws -> ReceivedFile {
        let draft = try fields.draft()
        let stored = try await receiver.store { sink in
            for try await bytes in UploadBody(request) { try await sink.write(bytes) }
        }
        let disposition = request.headers[.contentDisposition].flatMap { FieldParameters($0) }
        return ReceivedFile(draft: draft, name: fields.fileName ?? disposition?["filename"], stored: stored)
    }

    /// The one file of a form, and its fields before and behind it.
    func form(boundary: String, into receiver: FileReceiver) async throws -> ReceivedFile {
        do {
            return try await parts(boundary, receiver)
        } catch let error as MultipartError {
            throw APIError(form: error)
        }
    }

    /// The parameters of the query, which a file without a form has for fields.
    func queryFields() throws -> UploadFields {
        var fields = UploadFields()
        for (name, value) in request.uri.queryParameters { try fields.set(String(name), String(value)) }
        return fields
    }

    /// Before a byte is read: what is announced to be too large is.
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
        var room = UploadFields.maximumBytes
        while let part = try await reader.nextPart() {
            if part.fileName != nil || part.name == "file" {
                guard file == nil else {
                    throw APIError.invalid(part.name, "a message is one file", code: "too_many_files")
                }
                let stored = try await receiver.store { sink in
                    while let bytes = try await reader.nextContent() { try await sink.write(bytes) }
                }
                file = (stored, part.fileName)
            } else {
                try fields.set(part.name, try await Self.text(of: part.name, &reader, &room))
            }
        }
        guard let file else { throw APIError.missing("file") }
        return ReceivedFile(draft: try fields.draft(), name: fields.fileName ?? file.name, stored: file.stored)
    }

    private static func text(
        of name: String,
        _ reader: inout MultipartReader<UploadBody>,
        _ room: inout Int
    ) async throws -> String {
        var text = ByteBuffer()
        while let bytes = try await reader.nextContent() {
            room -= bytes.readableBytes
            guard room >= 0 else {
                throw APIError(.tooLarge, "fields_too_large", "the fields are too large", field: name)
            }
            text.writeImmutableBuffer(bytes)
        }
        guard let text = String(validating: text.readableBytesView, as: UTF8.self) else {
            throw APIError.invalid(name, "\"\(name)\" must be UTF-8", code: "malformed_field")
        }
        return text
    }
}
