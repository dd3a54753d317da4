import Foundation
import HTTPTypes
import Multipart
import SocialAPI
import Wire

extension MastodonConnector {
    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        AccountCapabilities(
            supported: [.feed, .messages, .notifications, .text, .photo, .video, .like, .reply],
            limits: MastodonLimits.limits(account.details),
            reasons: [
                .location: "Mastodon's posts have no location", .favorite: "Mastodon has likes instead of favourites",
            ]
        )
    }

    /// The ids of media that the instance has accepted and processed.
    private struct Prepared: Codable { var media: [String] }

    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try MastodonLimits.limits(account.details).check(post)
        if !post.photos.isEmpty, post.video != nil {
            throw NetworkError(.invalid, "a post has photos or a video, not both", code: "mixed_media")
        }
        var media: [String] = []
        for item in post.photos + (post.video.map { [$0] } ?? []) { media.append(try await send(item, account)) }
        return media.isEmpty ? nil : try NetworkCursor(Prepared(media: media))
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try MastodonLimits.limits(account.details).check(post)
        let media = try prepared?.read(as: Prepared.self).media ?? []
        return try await publishStatus(
            ["status": .string(post.text), "media_ids": .array(media.map(JSONValue.string))],
            post.key,
            account
        )
    }

    /// Searches the account's latest statuses: there is no lookup by key, and instances keep keys for an hour only.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        guard let id = account.id else { throw NetworkError.unsupported("the account's id is unknown") }
        let url = at("/api/v1/accounts/\(id.pathSegment)/statuses", account)
            .adding(["limit": "40", "exclude_reblogs": "true"])
        let media = try Set(prepared?.read(as: Prepared.self).media ?? [])
        let (statuses, budget) = try await calls.json(request(.get(url), account))
        let found = statuses.list.first { status in
            Set(status["media_attachments"].list.compactMap { $0["id"]?.identifier }) == media
                && Self.matches(post.text, status, since: post.createdAt)
        }
        return found.flatMap { posted($0, budget) }
    }

    /// Replies to all members of the thread, below its latest status.
    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try MastodonLimits.limits(account.details).check(reply)
        let (statuses, _) = try await conversation(reply.thread, account)
        guard let latest = statuses.first?["id"]?.identifier else {
            throw NetworkError(.notFound, "there is no such thread")
        }
        let text = (Self.people(statuses, but: account) + [reply.text]).joined(separator: " ")
        return try await publishStatus(
            ["status": .string(text), "visibility": .string("direct"), "in_reply_to_id": .string(latest)],
            reply.key,
            account
        )
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let (statuses, budget) = try await conversation(reply.thread, account)
        let found = statuses.first { status in
            status["account"]?["id"]?.identifier == account.id
                && Self.matches(reply.text, status, since: reply.createdAt)
        }
        return found.flatMap { posted($0, budget) }
    }

    // MARK: -

    private func publishStatus(
        _ fields: [String: JSONValue],
        _ key: UUID,
        _ account: NetworkAccount
    ) async throws -> PublishedPost {
        let request = request(try .json(at("/api/v1/statuses", account), .object(fields)), account)
            .with("Idempotency-Key", key.uuidString.lowercased())
        let (status, budget) = try await calls.json(request, isWrite: true)
        return PublishedPost(id: try status.createdID("id"), url: status["url"]?.link, budget: budget)
    }

    private func posted(_ status: JSONValue, _ budget: Budget?) -> PublishedPost? {
        status["id"]?.identifier.map { PublishedPost(id: $0, url: status["url"]?.link, budget: budget) }
    }

    /// Uploads media; returns the id once it can be part of a status.
    ///
    /// Videos take a while to process.
    private func send(_ media: OutgoingMedia, _ account: NetworkAccount) async throws -> String {
        var form = MultipartForm()
        form.add("file", fileName: media.fileName, contentType: media.type, media.bytes)
        if let alt = media.alt, !alt.isEmpty { form.add("description", alt) }
        let upload = try await calls.send(request(.multipart(at("/api/v2/media", account), form), account))
        guard let id = upload.json?["id"]?.identifier else {
            throw NetworkError(.transient, "the instance returned no id for the media")
        }
        guard upload.status == 202 || upload.json?["url"] == nil else { return id }
        return try await untilDone(40, pausing: pause) {
            let response = try await calls.send(request(.get(at("/api/v1/media/\(id.pathSegment)", account)), account))
            return response.status == 200 ? id : nil
        }
    }

    /// Returns whether a status may be the one that was sent: it has the text, perhaps after mentions, and is not
    /// older.
    ///
    /// One minute is allowed for clocks that differ.
    private static func matches(_ text: String, _ status: JSONValue, since: Date) -> Bool {
        guard let at = status["created_at"]?.date, at >= since.addingTimeInterval(-60) else { return false }
        let actual = words(PlainText.ofHTML(status["content"]?.text ?? ""))
        let expected = words(text)
        return actual == expected || actual.drop { $0.hasPrefix("@") } == expected[...]
    }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

    /// Returns the mentions of the people in a thread, each once.
    private static func people(_ statuses: [JSONValue], but account: NetworkAccount) -> [String] {
        var ids: Set<String> = [account.id ?? ""]
        var people: [String] = []
        let accounts = statuses.flatMap { $0["mentions"].list + [$0["account"]].compactMap { $0 } }
        for person in accounts {
            guard let id = person["id"]?.identifier, let name = person["acct"]?.nonEmpty, ids.insert(id).inserted
            else { continue }
            people.append("@\(name)")
        }
        return people
    }
}

extension OutgoingMedia {
    /// A file name that fits the type, for networks that check it.
    var fileName: String {
        let endings = ["image/jpeg": "jpg", "video/quicktime": "mov"]
        let ending = endings[type] ?? String(type.split(separator: "/").last ?? "bin")
        return "\(type.hasPrefix("video/") ? "video" : "photo").\(ending)"
    }
}
