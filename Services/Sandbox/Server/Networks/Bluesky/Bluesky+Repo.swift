import Foundation
import NIOCore
import NIOHTTP1
import Wire

extension Bluesky {
    func repo(_ method: String, _ request: NetworkRequest, by caller: Caller) throws -> WebResponse? {
        switch method {
        case "com.atproto.repo.createRecord", "com.atproto.repo.putRecord":
            return try write(request, by: caller, replaces: method.hasSuffix("putRecord"))
        case "com.atproto.repo.deleteRecord": return try delete(request, by: caller)
        case "com.atproto.repo.getRecord": return try read(request, by: caller)
        case "com.atproto.repo.uploadBlob": return try upload(request, by: caller)
        default: return nil
        }
    }

    private func checkOwner(_ request: NetworkRequest, _ caller: Caller) throws {
        guard let repo = request["repo"], person(repo)?.number == caller.person.number else {
            throw Self.apiError("InvalidRequest", "Could not find repo: \(request["repo"] ?? "")")
        }
    }

    private func write(_ request: NetworkRequest, by caller: Caller, replaces: Bool) throws -> WebResponse {
        try checkOwner(request, caller)
        guard let collection = request["collection"], let record = request.json?["record"] else {
            throw Self.apiError("InvalidRequest", "Error: Input must have the property \"record\"")
        }
        guard record["$type"]?.text == collection else {
            throw Self.apiError("InvalidRequest", "Invalid $type: expected \(collection)")
        }
        guard record["createdAt"]?.text.flatMap({ Timestamp.date(from: $0) }) != nil else {
            throw Self.apiError("InvalidRequest", "Record/createdAt must be an valid atproto datetime")
        }
        let own = BlueskyNames.did(caller.person)
        let view = view(request, caller)
        switch collection {
        case "app.bsky.feed.post":
            let key = request["rkey"]
            if let key {
                if key.count > 512 || key.contains("/") { throw Self.apiError("InvalidRequest", "Invalid rkey") }
                if let existing = records.post(key, by: own).flatMap({ community.post($0) }) {
                    guard replaces else { throw Self.apiError("InvalidRequest", "Record already exists") }
                    return acknowledged(view.uri(existing), view.cid(existing))
                }
            } else if replaces {
                throw Self.apiError("InvalidRequest", "Error: Input must have the property \"rkey\"")
            }
            let post = community.publish(try draft(record, by: caller), by: caller.person.number)
            records.save(record, of: post.id, key: key ?? BlueskyNames.tid(post.id), by: own)
            return acknowledged(view.uri(post), view.cid(post))
        case "app.bsky.feed.like", "app.bsky.feed.repost":
            guard let post = record["subject"]?["uri"]?.text.flatMap(post) else {
                throw Self.apiError("InvalidRequest", "Record/subject/uri must be a valid at-uri")
            }
            guard record["subject"]?["cid"]?.text == view.cid(post) else {
                throw Self.apiError("InvalidRequest", "Record/subject/cid must be a valid cid")
            }
            if collection == "app.bsky.feed.repost" {
                let boost = community.publish(Community.Draft(original: post.id), by: caller.person.number)
                return acknowledged(view.uri(boost), view.cid(boost))
            }
            _ = community.like(post.id, by: caller.person.number)
            let uri = "at://\(own)/app.bsky.feed.like/\(BlueskyNames.tid(post.id))"
            return acknowledged(uri, BlueskyNames.cid(of: Data(uri.utf8)))
        default: throw Self.apiError("InvalidRequest", "Lexicon not found: \(collection)")
        }
    }

    private func acknowledged(_ uri: String, _ cid: String) -> WebResponse {
        .jsonValue([
            "uri": .string(uri), "cid": .string(cid), "commit": ["cid": .string(cid), "rev": "3jzfcijpj2z2a"],
            "validationStatus": "valid",
        ])
    }

    private func draft(_ record: JSONValue, by caller: Caller) throws -> Community.Draft {
        let text = record["text"]?.text ?? ""
        guard text.count <= 300 else {
            throw Self.apiError("InvalidRequest", "Record/text must not be longer than 300 graphemes")
        }
        guard text.utf8.count <= 3_000 else {
            throw Self.apiError("InvalidRequest", "Record/text must not be longer than 3000 characters")
        }
        for facet in record["facets"]?.values ?? [] {
            guard let start = facet["index"]?["byteStart"]?.whole, let end = facet["index"]?["byteEnd"]?.whole,
                0 <= start, start < end, end <= text.utf8.count
            else { throw Self.apiError("InvalidRequest", "Record/facets/0/index must have the property \"byteStart\"") }
        }
        var draft = Community.Draft(text: text)
        if let reply = record["reply"] {
            guard let parent = reply["parent"]?["uri"]?.text.flatMap(post), reply["root"]?["uri"]?.text != nil else {
                throw Self.apiError("InvalidRequest", "Record/reply must have the property \"root\"")
            }
            draft.parent = parent.id
        }
        if let embed = record["embed"] { draft.media = try attachments(embed, by: caller) }
        return draft
    }

    private func attachments(_ embed: JSONValue, by caller: Caller) throws -> [Attachment] {
        let images = embed["images"]?.values ?? []
        guard images.count <= 4 else {
            throw Self.apiError("InvalidRequest", "Record/embed/images must not have more than 4 elements")
        }
        let blobs = images.map { ($0["image"], $0["alt"]?.text) } + (embed["video"].map { [($0, nil)] } ?? [])
        return try blobs.map { blob, alt in
            let cid = blob?["ref"]?["$link"]?.text ?? ""
            guard blob?["$type"]?.text == "blob", let id = records.blob(cid),
                let upload = media.upload(id, of: caller.person.number)
            else { throw Self.apiError("BlobNotFound", "Could not find blob: \(cid)") }
            guard upload.attachment.kind == .video || upload.bytes.readableBytes <= 2_000_000 else {
                throw Self.apiError(
                    "BlobTooLarge",
                    "This file is too large. It is \(upload.bytes.readableBytes) but the maximum size is 2MB."
                )
            }
            media.use([id])
            var attachment = upload.attachment
            attachment.description = alt
            return attachment
        }
    }

    private func upload(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        guard let type = request.headers.first(name: "content-type"), request.body.readableBytes > 0 else {
            throw Self.apiError("InvalidRequest", "Request encoding (Content-Type) required but not provided")
        }
        return .jsonValue(["blob": save(request.body, type: type, by: caller.person)])
    }

    private func save(_ bytes: ByteBuffer, type: String, by person: Person) -> JSONValue {
        let upload = media.save(bytes, type: type, by: person.number, at: clock.now)
        let cid = BlueskyNames.cid(of: Data(bytes.readableBytesView), isRaw: true)
        records.save(blob: cid, upload.attachment.id)
        return [
            "$type": "blob", "ref": ["$link": .string(cid)], "mimeType": .string(type),
            "size": .int(bytes.readableBytes),
        ]
    }

    private func delete(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        try checkOwner(request, caller)
        guard let key = request["rkey"], let collection = request["collection"] else {
            throw Self.apiError("InvalidRequest", "Error: Input must have the property \"rkey\"")
        }
        let id = records.post(key, by: BlueskyNames.did(caller.person))
        switch collection {
        case "app.bsky.feed.like": id.map { _ = community.like($0, by: caller.person.number, false) }
        default: id.map { _ = community.delete($0, by: caller.person.number) }
        }
        return .jsonValue([
            "commit": ["cid": "bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm", "rev": "3jzfcijpj2z2b"]
        ])
    }

    private func read(_ request: NetworkRequest, by caller: Caller) throws -> WebResponse {
        let uri = "at://\(request["repo"] ?? "")/\(request["collection"] ?? "")/\(request["rkey"] ?? "")"
        guard let post = post(uri) else { throw Self.apiError("RecordNotFound", "Could not locate record: \(uri)") }
        let view = view(request, caller)
        return .jsonValue(view.reference(post).with(["value": view.record(post)]))
    }

    // MARK: Video

    /// The video service, which requires a token that was issued only for it.
    func video(_ method: String, _ request: NetworkRequest, by caller: Caller?) throws -> WebResponse? {
        switch method {
        case "app.bsky.video.getUploadLimits":
            return .jsonValue(["canUpload": true, "remainingDailyVideos": 25, "remainingDailyBytes": 10_000_000_000])
        case "app.bsky.video.uploadVideo":
            guard let token = request.bearer, let owner = try? self.caller(token: token),
                owner.scopes.contains("service"), request["did"] == BlueskyNames.did(owner.person)
            else { throw Self.apiError("AuthMissing", "Authentication Required", .unauthorized) }
            guard request.headers.first(name: "content-type") == "video/mp4" else {
                throw Self.apiError("InvalidRequest", "Content-Type must be video/mp4")
            }
            let blob = save(request.body, type: "video/mp4", by: owner.person)
            let cid = blob["ref"]?["$link"]?.text ?? ""
            records.save(job: cid, Int64(request.body.readableBytes), at: clock.now)
            return .jsonValue(["jobStatus": status(cid, of: owner.person, isDone: false)])
        case "app.bsky.video.getJobStatus":
            guard let id = request["jobId"], let job = records.job(id) else {
                throw Self.apiError("InvalidRequest", "job not found")
            }
            let isDone = clock.now.timeIntervalSince(job.at) >= 1
            let blob: JSONValue = [
                "$type": "blob", "ref": ["$link": .string(id)], "mimeType": "video/mp4", "size": .integer(job.upload),
            ]
            let state = status(id, of: .anonymous, isDone: isDone)
            return .jsonValue(["jobStatus": isDone ? state.with(["blob": blob]) : state])
        default: return nil
        }
    }

    private func status(_ job: String, of person: Person, isDone: Bool) -> JSONValue {
        [
            "jobId": .string(job), "did": .string(BlueskyNames.did(person)),
            "state": isDone ? "JOB_STATE_COMPLETED" : "JOB_STATE_CREATED",
        ]
    }
}
