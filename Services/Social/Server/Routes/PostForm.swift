import Hummingbird
import Multipart
import NIOCore
import ServiceHost
import SocialAPI
import Wire

/// A post in a form: `meta` and `data` as JSON, and the files as `photo` and `video`.
struct PostForm {
    /// The maximum sizes of all files and of all other fields, in bytes; the gateway's limit is the same.
    static let maximumFile = 25_165_824
    static let maximumFields = 1_048_576

    var request = SocialRequest()
    var photo: OutgoingMedia?
    var video: OutgoingMedia?

    var hasFile: Bool { photo != nil || video != nil }

    static func isForm(_ request: Request) -> Bool {
        request.headers[.contentType].flatMap { FieldParameters($0) }?.word == "multipart/form-data"
    }

    /// Reads a form into memory; ``RequestReader`` limits the number of forms in memory.
    ///
    /// - Parameters:
    ///   - request: A request with a form.
    ///   - takesFiles: Whether the route accepts files; otherwise a file is rejected before its bytes are read.
    /// - Throws: `invalid_field` for a malformed form, `body_too_large` for one with too many bytes.
    init(_ request: Request, takesFiles: Bool) async throws {
        let type = request.headers[.contentType].flatMap { FieldParameters($0) }
        guard let boundary = type?["boundary"], let parser = MultipartParser(boundary: boundary) else {
            throw APIError.invalid("Content-Type", "a form has a boundary of 1 to 70 characters")
        }
        do {
            try await read(MultipartReader(parser, UploadBody(request)), takesFiles: takesFiles)
        } catch let error as MultipartError {
            throw APIError(form: error)
        }
    }

    private mutating func read(_ reader: MultipartReader<UploadBody>, takesFiles: Bool) async throws {
        var reader = reader
        var room = (file: Self.maximumFile, fields: Self.maximumFields)
        var alts: [String: String] = [:]
        while let part = try await reader.nextPart() {
            let isFile = part.name == "photo" || part.name == "video"
            guard takesFiles || !isFile else {
                let message = "only POST /feed and POST /feed/schedule accept files"
                throw APIError(.unsupportedMediaType, "unsupported_file_type", message, field: part.name)
            }
            var content = ByteBuffer()
            while var bytes = try await reader.nextContent() {
                if isFile { room.file -= bytes.readableBytes } else { room.fields -= bytes.readableBytes }
                guard room.file >= 0, room.fields >= 0 else {
                    throw APIError(
                        .tooLarge,
                        "body_too_large",
                        "a form may have at most \(Self.maximumFile) bytes of files and \(Self.maximumFields) of fields",
                        field: part.name
                    )
                }
                content.writeBuffer(&bytes)
            }
            try add(part.name, content, &alts)
        }
        photo?.alt = alts["photoAlt"]
        video?.alt = alts["videoAlt"]
    }

    private mutating func add(_ name: String, _ content: ByteBuffer, _ alts: inout [String: String]) throws {
        switch name {
        case "photo": photo = try media(content, "image/", name, after: photo)
        case "video": video = try media(content, "video/", name, after: video)
        case "photoAlt", "videoAlt": alts[name] = try Self.alt(content, name)
        case "data", "meta":
            let read = try WireJSON.decode(SocialRequest.self, from: Self.field(name, content))
            if name == "data" { request.data = read.data } else { request.meta = read.meta }
        default: break
        }
    }

    private static func alt(_ content: ByteBuffer, _ name: String) throws -> String {
        let text = String(buffer: content)
        try APIError.check(text, of: name)
        guard text.unicodeScalars.count <= FeedDraft.maximumAlt else {
            throw APIError.invalid(name, "an alternative text may have at most \(FeedDraft.maximumAlt) characters")
        }
        return text
    }

    /// Returns a part in the same form as in a JSON body.
    private static func field(_ name: String, _ content: ByteBuffer) throws -> JSONValue {
        do {
            return .object([name: try WireJSON.decode(JSONValue.self, from: content.readableBytesView, limits: .free)])
        } catch var error as APIError {
            error.field = error.field.map { "\(name).\($0)" } ?? name
            throw error
        }
    }

    private func media(
        _ content: ByteBuffer,
        _ prefix: String,
        _ field: String,
        after existing: OutgoingMedia?
    ) throws -> OutgoingMedia {
        guard existing == nil else {
            throw APIError.invalid(field, "a post may have at most one \(field)", code: "too_many_files")
        }
        let type = AttachedUploads.type(of: content)
        guard type.hasPrefix(prefix) else {
            throw APIError(.unsupportedMediaType, "unsupported_media_type", "the file is not a \(field)", field: field)
        }
        return OutgoingMedia(bytes: content, type: type)
    }
}
