import Foundation
import Locks
import NIOCore
import NIOHTTP1
import Wire

/// The posts of the last hour by their `Idempotency-Key`.
final class MastodonIdempotencyKeys: Sendable {
    private let posts = Lock<[String: (post: Int64, at: Date)]>([:])

    func post(_ key: String, at time: Date) -> Int64? {
        posts.withLock { posts in posts[key].flatMap { time.timeIntervalSince($0.at) < 3_600 ? $0.post : nil } }
    }

    func save(_ key: String, _ post: Int64, at time: Date) {
        posts.withLock { posts in
            if posts.count > 100_000 { posts = [:] }
            posts[key] = (post, time)
        }
    }
}

extension Mastodon {
    func statuses(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> WebResponse? {
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        guard path.count > 1 else { return request.method == .POST ? write(request, view) : nil }
        guard let id = Int64(path[1]) else { return nil }
        switch (request.method, path.count > 2 ? path[2] : "") {
        case (.GET, ""): return shown(id, view).map { .jsonValue($0) }
        case (.GET, "context"): return context(id, view)
        case (.DELETE, ""):
            guard let post = community.delete(id, by: caller.person.number) else { return nil }
            return .jsonValue(view.status(post).with(["text": .string(post.text)]))
        case (.POST, "favourite"):
            return community.like(id, by: caller.person.number).map { .jsonValue(view.status($0)) }
        case (.POST, "unfavourite"):
            return community.like(id, by: caller.person.number, false).map { .jsonValue(view.status($0)) }
        case (.POST, "reblog"):
            guard let post = community.post(id) else { return nil }
            let boost = Community.Draft(original: post.original ?? post.id)
            return .jsonValue(view.status(community.publish(boost, by: caller.person.number)))
        case (.POST, "unreblog"):
            let boosts = community.posts(PostRange(limit: 1)) {
                $0.original == id && $0.author == caller.person.number
            }
            _ = boosts.posts.first.map { community.delete($0.id, by: caller.person.number) }
            return community.post(id).map { .jsonValue(view.status($0)) }
        default: return nil
        }
    }

    /// Returns a post, or a message that the viewer may see.
    private func shown(_ id: Int64, _ view: MastodonView) -> JSONValue? {
        if let post = community.post(id) { return view.status(post) }
        guard let (messageThread, message) = message(id, of: view.viewer.number) else { return nil }
        return view.message(message, in: messageThread)
    }

    private func message(_ id: Int64, of person: Int) -> (MessageThread, Message)? {
        for messageThread in community.messageThreads(of: person) {
            if let message = messageThread.messages.first(where: { $0.id == id }) { return (messageThread, message) }
        }
        return nil
    }

    private func context(_ id: Int64, _ view: MastodonView) -> WebResponse? {
        if let (messageThread, _) = message(id, of: view.viewer.number) {
            return .jsonValue([
                "ancestors": .list(
                    messageThread.messages.filter { $0.id < id }.map { view.message($0, in: messageThread) }
                ),
                "descendants": .list(
                    messageThread.messages.filter { $0.id > id }.map { view.message($0, in: messageThread) }
                ),
            ])
        }
        guard let post = community.post(id) else { return nil }
        var ancestors: [Post] = []
        while let parent = (ancestors.first ?? post).parent.flatMap({ community.post($0) }), ancestors.count < 40 {
            ancestors.insert(parent, at: 0)
        }
        return .jsonValue([
            "ancestors": .list(ancestors.map { view.status($0) }),
            "descendants": .list(community.replies(to: id).map { view.status($0) }),
        ])
    }

    // MARK: Writing

    private func write(_ request: NetworkRequest, _ view: MastodonView) -> WebResponse {
        let author = view.viewer.number
        let key = request.headers.first(name: "idempotency-key").map { "\(author) \($0)" }
        if let earlier = key.flatMap({ keys.post($0, at: clock.now) }), let shown = shown(earlier, view) {
            return .jsonValue(shown)
        }
        let text = request["status"] ?? ""
        let wanted = request.all("media_ids").compactMap(Int64.init)
        let uploads = wanted.compactMap { media.upload($0, of: author) }
        let violation = violation(text: text, wanted: wanted.count, uploads: uploads, request)
        if let violation { return Self.error("Validation failed: \(violation)", .unprocessableEntity) }
        media.use(wanted)
        let attachments = uploads.map(\.attachment)
        let response = postStatus(text, attachments, request, view)
        if let key, let id = response["id"]?.text.flatMap(Int64.init) { keys.save(key, id, at: clock.now) }
        return .jsonValue(response)
    }

    private func violation(
        text: String,
        wanted: Int,
        uploads: [MediaStore.Upload],
        _ request: NetworkRequest
    ) -> String? {
        if text.isEmpty, wanted == 0 { return "Text can't be blank" }
        let counted = text.replacing(/https?:\/\/\S+/, with: String(repeating: "x", count: 23))
        if counted.count > 500 { return "Text character limit of 500 exceeded" }
        if uploads.count != wanted { return "Media attachments not found" }
        if wanted > 4 { return "Cannot attach more than 4 files" }
        if uploads.contains(where: { $0.attachment.kind == .video }), wanted > 1 {
            return "Cannot attach a video to a post that already contains images"
        }
        if uploads.contains(where: { !isReady($0) }) { return "Cannot attach files that have not finished processing" }
        let visibility = request["visibility"] ?? "public"
        if !["public", "unlisted", "private", "direct"].contains(visibility) { return "Visibility is not included" }
        if let parent = request["in_reply_to_id"], Int64(parent) == nil { return "In reply to is invalid" }
        return nil
    }

    private func postStatus(
        _ text: String,
        _ attachments: [Attachment],
        _ request: NetworkRequest,
        _ view: MastodonView
    ) -> JSONValue {
        let author = view.viewer.number
        let parent = request.whole("in_reply_to_id")
        guard request["visibility"] == "direct" else {
            let draft = Community.Draft(text: text, media: attachments, parent: parent)
            return view.status(community.publish(draft, by: author), visibility: request["visibility"] ?? "public")
        }
        let plain = text.replacing(/^(@[A-Za-z0-9_@.:]+ )+/, with: "")
        if let parent, let (messageThread, _) = message(parent, of: author),
            let (now, sent) = community.sendMessage(plain, media: attachments, by: author, in: messageThread.id)
        {
            return view.message(sent, in: now)
        }
        let others = Community.mentions(in: text).compactMap { community.person(named: $0)?.number }
        let (messageThread, sent) = community.sendMessage(plain, media: attachments, by: author, to: others)
        return view.message(sent, in: messageThread)
    }

    // MARK: Media

    /// Returns whether an upload is processed, which takes a second for a video, because it takes time on a real
    /// instance too.
    private func isReady(_ upload: MediaStore.Upload) -> Bool {
        upload.attachment.kind == .photo || clock.now.timeIntervalSince(upload.at) >= 1
    }

    func attachments(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> WebResponse? {
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        let shown = { (upload: MediaStore.Upload) in
            isReady(upload) ? view.attachment(upload.attachment) : view.attachment(upload.attachment).with(["url": nil])
        }
        if request.method == .POST, path.count == 1 {
            guard let file = request.files.first(where: { $0.name == "file" }) else {
                return Self.error("Validation failed: File can't be blank", .unprocessableEntity)
            }
            let types = ["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"]
            guard types.contains(file.type) else {
                return Self.error("Validation failed: File content type is invalid", .unprocessableEntity)
            }
            guard file.bytes.readableBytes <= (file.type == "video/mp4" ? 103_809_024 : 16_777_216) else {
                return Self.error("Validation failed: File is too large", .unprocessableEntity)
            }
            let upload = media.save(
                file.bytes,
                type: file.type,
                description: request["description"],
                by: caller.person.number,
                at: clock.now
            )
            return .jsonValue(shown(upload), isReady(upload) ? .ok : .accepted)
        }
        guard request.method == .GET, path.count == 2, let id = Int64(path[1]),
            let upload = media.upload(id, of: caller.person.number)
        else { return nil }
        return .jsonValue(shown(upload), isReady(upload) ? .ok : .partialContent)
    }
}
