import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// A media upload in segments.
struct TwitterUpload: OwnedItem {
    let owner: Int
    let type: String
    let size: Int
    var pieces: [Int: ByteBuffer] = [:]
    /// The id and the time under which the complete file is stored; nil until then.
    var saved: (id: Int64, at: Date)?
}

extension Twitter {
    private static let types = ["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4", "video/quicktime"]

    /// Returns the media type of a file, from its first bytes when the form does not name a supported type.
    private static func type(of file: NetworkRequest.File) -> String {
        if types.contains(file.type) { return file.type }
        let bytes = Array(file.bytes.readableBytesView.prefix(12))
        if bytes.starts(with: [0x89, 0x50]) { return "image/png" }
        if bytes.starts(with: [0xFF, 0xD8]) { return "image/jpeg" }
        if bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) { return "video/mp4" }
        return file.type
    }

    /// Handles `media/upload` of 1.1: a single form, or the commands INIT, APPEND, FINALIZE and STATUS.
    func upload(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        let owner = caller.person.number
        switch request["command"] {
        case nil:
            guard let bytes = try simple(request) else {
                throw Self.apiError(38, "media parameter is missing.", .badRequest)
            }
            let upload = media.save(bytes.0, type: bytes.1, by: owner, at: clock.now)
            return .jsonValue(Self.saved(upload.attachment))
        case "INIT":
            guard let id = try begin(request, owner) else {
                throw Self.apiError(38, "total_bytes parameter is missing.", .badRequest)
            }
            let response: JSONValue = [
                "media_id": .integer(id), "media_id_string": .string(String(id)), "expires_after_secs": 86_400,
            ]
            return .jsonValue(response, .accepted)
        case "APPEND":
            try append(request, request.whole("media_id"), owner)
            return WebResponse(.noContent)
        case "FINALIZE":
            let (id, upload) = try finish(request.whole("media_id"), owner)
            return .jsonValue(status(id, upload), .created)
        case "STATUS":
            guard let id = request.whole("media_id"), let upload = uploads.find(id, of: owner) else {
                throw Self.apiError(324, "Invalid mediaId.", .badRequest)
            }
            return .jsonValue(status(id, upload))
        default: throw Self.apiError(38, "command parameter is invalid.", .badRequest)
        }
    }

    private func simple(_ request: NetworkRequest) throws -> (ByteBuffer, String)? {
        if let file = request.files.first(where: { $0.name == "media" }) {
            let type = Self.type(of: file)
            try Self.check(type, file.bytes.readableBytes)
            return (file.bytes, type)
        }
        guard let data = request["media_data"].flatMap({ Data(base64Encoded: $0) }) else { return nil }
        return (ByteBuffer(bytes: data), "image/png")
    }

    private static func check(_ type: String, _ size: Int) throws {
        guard types.contains(type) else { throw apiError(324, "Unsupported raw media category", .badRequest) }
        let limit = type == "image/gif" ? 15_728_640 : type.hasPrefix("image/") ? 5_242_880 : 536_870_912
        guard size <= limit else { throw apiError(324, "File size exceeds \(limit) bytes.", .badRequest) }
    }

    private func begin(_ request: NetworkRequest, _ owner: Int) throws -> Int64? {
        guard let size = request.whole("total_bytes"), let type = request["media_type"] else { return nil }
        try Self.check(type, Int(size))
        return uploads.add(TwitterUpload(owner: owner, type: type, size: Int(size)))
    }

    private func append(_ request: NetworkRequest, _ id: Int64?, _ owner: Int) throws {
        guard let id, uploads.find(id, of: owner) != nil, let index = request.whole("segment_index"),
            let piece = request.files.first(where: { $0.name == "media" })?.bytes
                ?? request["media"].map({ ByteBuffer(string: $0) })
        else { throw Self.apiError(324, "Segments do not add up to provided total file size.", .badRequest) }
        uploads.change(id) { $0.pieces[Int(index)] = piece }
    }

    private func finish(_ id: Int64?, _ owner: Int) throws -> (Int64, TwitterUpload) {
        guard let id, let upload = uploads.find(id, of: owner) else {
            throw Self.apiError(324, "Invalid mediaId.", .badRequest)
        }
        var bytes = ByteBuffer()
        for (_, piece) in upload.pieces.sorted(by: { $0.key < $1.key }) { bytes.writeImmutableBuffer(piece) }
        guard bytes.readableBytes == upload.size else {
            throw Self.apiError(324, "Segments do not add up to provided total file size.", .badRequest)
        }
        let saved = media.save(bytes, type: upload.type, by: owner, at: clock.now)
        uploads.change(id) { $0.saved = (saved.attachment.id, clock.now) }
        return (id, uploads.find(id, of: owner) ?? upload)
    }

    /// Returns whether an upload is complete and processed, which takes one second for a video.
    private func isReady(_ upload: TwitterUpload) -> Bool {
        guard let saved = upload.saved else { return false }
        return upload.type.hasPrefix("image/") || clock.now.timeIntervalSince(saved.at) >= 1
    }

    private func status(_ id: Int64, _ upload: TwitterUpload) -> JSONValue {
        let shown: JSONValue = [
            "media_id": .integer(id), "media_id_string": .string(String(id)), "size": .int(upload.size),
            "expires_after_secs": 86_400,
        ]
        guard !upload.type.hasPrefix("image/") else { return shown }
        let state: JSONValue =
            isReady(upload)
            ? ["state": "succeeded", "progress_percent": 100] : ["state": "pending", "check_after_secs": 1]
        return shown.with(["processing_info": state])
    }

    private static func saved(_ attachment: Attachment) -> JSONValue {
        [
            "media_id": .integer(attachment.id), "media_id_string": .string(String(attachment.id)),
            "size": .int(attachment.size), "expires_after_secs": 86_400,
            "image": [
                "image_type": .string(attachment.type), "w": .int(attachment.width), "h": .int(attachment.height),
            ],
        ]
    }

    /// Returns the attachments that a post names, from single or segmented uploads.
    func attachments(_ ids: [Int64], of owner: Int) throws -> [Attachment] {
        try ids.map { id in
            if let whole = media.upload(id, of: owner) { return whole.attachment }
            guard let upload = uploads.find(id, of: owner), let saved = upload.saved, isReady(upload),
                let whole = media.upload(saved.id, of: owner)
            else { throw Self.apiError(324, "The validation of media ids failed.", .badRequest) }
            return whole.attachment
        }
    }

    // MARK: v2

    /// Handles `2/media/upload…`.
    func uploadV2(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> WebResponse? {
        let owner = caller.person.number
        switch (request.method, path.count > 2 ? path.last ?? "" : "") {
        case (.GET, _):
            guard let id = request.whole("media_id"), let upload = uploads.find(id, of: owner) else {
                throw Self.problem(404, "Not Found Error")
            }
            return .jsonValue(["data": statusV2(id, upload)])
        case (.POST, "initialize"):
            guard let id = try begin(request, owner), let upload = uploads.find(id, of: owner) else {
                throw Self.problem(400, "Invalid Request")
            }
            return .jsonValue(["data": statusV2(id, upload)])
        case (.POST, "append"):
            try append(request, Int64(path[2]), owner)
            return .jsonValue(["data": ["expires_at": .int(Int(clock.now.timeIntervalSince1970) + 86_400)]])
        case (.POST, "finalize"):
            let (id, upload) = try finish(Int64(path[2]), owner)
            return .jsonValue(["data": statusV2(id, upload)])
        case (.POST, ""):
            guard let (bytes, type) = try simple(request) else { throw Self.problem(400, "Invalid Request") }
            let saved = media.save(bytes, type: type, by: owner, at: clock.now).attachment
            return .jsonValue([
                "data": [
                    "id": .string(String(saved.id)), "media_key": .string(TwitterView.key(saved)),
                    "size": .int(saved.size), "expires_after_secs": 86_400,
                ]
            ])
        default: return nil
        }
    }

    private func statusV2(_ id: Int64, _ upload: TwitterUpload) -> JSONValue {
        let shown = status(id, upload)
        let data: JSONValue = [
            "id": .string(String(id)), "media_key": .string("13_\(id)"), "expires_after_secs": 1_295_999,
        ]
        guard upload.saved != nil, let state = shown["processing_info"] else { return data }
        return data.with(["processing_info": state])
    }
}
