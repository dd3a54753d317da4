import Foundation
import HTTPTypes
import NIOCore
import SocialAPI
import Wire

extension BlueskyConnector {
    private static let limits = PostLimits(
        text: 300,
        textUnit: .graphemes,
        photos: 4,
        // Bluesky accepts 2,000,000 bytes today, but the PDS of other operators may still have the earlier limit.
        photoBytes: 976_000,
        photoTypes: ["image/jpeg", "image/png", "image/webp", "image/gif"],
        videoBytes: 300_000_000,
        videoSeconds: 180,
        videoTypes: ["video/mp4"],
        reply: 1_000
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        var accountCapabilities = AccountCapabilities(
            supported: [.feed, .messages, .notifications, .text, .photo, .video, .like, .reply],
            limits: Self.limits,
            reasons: [
                .location: "Bluesky's posts have no location", .favorite: "Bluesky has likes instead of favourites",
            ]
        )
        let scope = account.details["scope"] ?? Self.scope(of: account.tokens.access) ?? ""
        let granted = scope.split(separator: " ")
        func lack(_ missing: Set<Capability>, _ reason: String) {
            accountCapabilities.supported.subtract(missing)
            for capability in missing { accountCapabilities.reasons[capability] = reason }
        }
        if scope == "com.atproto.appPass" {
            lack([.messages, .reply], "this app password was made without access to direct messages")
        } else if granted.contains("atproto") {
            let own: Set<Capability> = [.feed, .notifications, .text, .photo, .video, .like]
            if !granted.contains("transition:generic") { lack(own, "access to it was not granted") }
            if !granted.contains("transition:chat.bsky") { lack([.messages, .reply], "access to it was not granted") }
        }
        return accountCapabilities
    }

    /// The embedded media of a post: references to blobs that the PDS keeps for hours.
    private struct Prepared: Codable { var embed: JSONValue }

    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try check(post)
        if let video = post.video {
            let blob = try await sendVideo(video, named: post.key, account)
            return try NetworkCursor(Prepared(embed: Self.embed(video: blob, video)))
        }
        var images: [JSONValue] = []
        for photo in post.photos {
            var request = NetworkRequest(.post, url("com.atproto.repo.uploadBlob", account), body: photo.bytes)
            request.headers[.contentType] = photo.type
            let (json, _) = try await calls(of: account).json(request.bearer(account.tokens.access))
            guard let blob = json["blob"] else {
                throw NetworkError(.transient, "the PDS did not return the uploaded blob")
            }
            images.append(Self.described(["image": blob, "alt": .string(photo.alt ?? "")], photo))
        }
        guard !images.isEmpty else { return nil }
        let embed: JSONValue = .object(["$type": .string("app.bsky.embed.images"), "images": .array(images)])
        return try NetworkCursor(Prepared(embed: embed))
    }

    /// Creates the post's record.
    ///
    /// Its key is derived from the post's key, so that `find` can read it by that key.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try check(post)
        var record: [String: JSONValue] = [
            "$type": .string(Self.posts),
            "text": .string(post.text),
            "createdAt": .string(Timestamp.string(from: post.createdAt)),
        ]
        let facets =
            BlueskyFacets.links(in: post.text) + BlueskyFacets.tags(in: post.text)
            + (try await BlueskyFacets.mentions(in: post.text) { try await did(of: $0, account) })
        if !facets.isEmpty { record["facets"] = .array(facets) }
        if let embed = try prepared?.read(as: Prepared.self).embed { record["embed"] = embed }
        return try await put(Self.posts, Self.recordKey(post.key, post.createdAt), record, account)
    }

    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        try await get(Self.posts, Self.recordKey(post.key, post.createdAt), account)
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try Self.limits.check(reply)
        let (json, budget) = try await call(
            "chat.bsky.convo.sendMessage",
            .object(["convoId": .string(reply.thread), "message": .object(["text": .string(reply.text)])]),
            account,
            isWrite: true
        )
        return PublishedPost(id: "message/\(try json.createdID("id"))", budget: budget)
    }

    /// Searches the latest messages of the conversation.
    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let query = ["convoId": reply.thread, "limit": "50"]
        let (json, budget) = try await read("chat.bsky.convo.getMessages", query, account)
        let found = json["messages"].list.first { message in
            message["sender"]?["did"]?.text == account.id && message["text"]?.text == reply.text
                && (message["sentAt"]?.date).map { $0 >= reply.createdAt.addingTimeInterval(-60) } == true
        }
        return found?["id"]?.identifier.map { PublishedPost(id: "message/\($0)", budget: budget) }
    }

    /// Likes a post.
    ///
    /// A like is a record of the user that names the post and its current version.
    ///
    /// The record's key is derived from the post's address, so that a second like is the same record.
    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        // A like of a repost is a like of the post.
        let uri = id.firstRange(of: "at://").map { String(id[$0.lowerBound...]) } ?? id
        let (found, _) = try await read("app.bsky.feed.getPosts", ["uris": uri], account)
        guard let post = found["posts"].list.first, let cid = post["cid"]?.nonEmpty else {
            throw NetworkError(.notFound, "there is no such post")
        }
        let url = BlueskyItems.webAddress(of: uri, by: post["author"]?["handle"]?.text)
        guard post["viewer"]?["like"] == nil else { return PublishedPost(id: uri, url: url) }
        let record: [String: JSONValue] = [
            "$type": .string("app.bsky.feed.like"),
            "subject": .object(["uri": .string(uri), "cid": .string(cid)]),
            "createdAt": .string(Timestamp.string(from: calls.now())),
        ]
        let made = try await put("app.bsky.feed.like", BlueskyFacets.recordKey(of: uri), record, account)
        return PublishedPost(id: uri, url: url, budget: made.budget)
    }

    // MARK: -

    private static let posts = "app.bsky.feed.post"

    private func check(_ post: NetworkPost) throws {
        try Self.limits.check(post)
        if post.text.utf8.count > 3_000 {
            throw NetworkError(.invalid, "the text has more than 3,000 bytes", code: "text_too_long")
        }
        if !post.photos.isEmpty, post.video != nil {
            throw NetworkError(.invalid, "a post has photos or a video, not both", code: "mixed_media")
        }
    }

    /// Creates a record, or leaves the existing one as it is: the fixed key prevents duplicates.
    private func put(
        _ collection: String,
        _ key: String,
        _ record: [String: JSONValue],
        _ account: NetworkAccount
    ) async throws -> PublishedPost {
        let body: JSONValue = .object([
            "repo": .string(account.id ?? ""), "collection": .string(collection), "rkey": .string(key),
            "record": .object(record),
        ])
        let (json, budget) = try await call("com.atproto.repo.putRecord", body, account, isWrite: true)
        let uri = try json.createdID("uri")
        return PublishedPost(id: uri, url: BlueskyItems.webAddress(of: uri, by: account.username), budget: budget)
    }

    private func get(_ collection: String, _ key: String, _ account: NetworkAccount) async throws -> PublishedPost? {
        do {
            let query = ["repo": account.id ?? "", "collection": collection, "rkey": key]
            let (json, budget) = try await read("com.atproto.repo.getRecord", query, account)
            let uri = try json.createdID("uri")
            return PublishedPost(id: uri, url: BlueskyItems.webAddress(of: uri, by: account.username), budget: budget)
        } catch let error as NetworkError where error.kind == .notFound || error.code == "RecordNotFound" {
            return nil
        }
    }

    private func did(of handle: String, _ account: NetworkAccount) async throws -> String? {
        do {
            let (json, _) = try await read("com.atproto.identity.resolveHandle", ["handle": handle], account)
            return json["did"]?.nonEmpty
        } catch let error as NetworkError where error.kind == .invalid || error.kind == .notFound {
            return nil
        }
    }

    /// Returns a record key in the protocol's TID format: microseconds and 10 bits, in 13 base-32 characters.
    static func recordKey(_ key: UUID, _ at: Date) -> String {
        let bytes = withUnsafeBytes(of: key.uuid) { Array($0) }
        // The milliseconds are those of the post, the other bits come from its key. The result is the same for the same
        // post.
        let noise = UInt64(bytes[0]) << 8 | UInt64(bytes[1])
        let micros = UInt64(max(0, at.timeIntervalSince1970 * 1_000).rounded()) * 1_000 + noise % 1_000
        let value = micros << 10 | (UInt64(bytes[2]) << 8 | UInt64(bytes[3])) & 1_023
        return BlueskyFacets.recordKey(value)
    }

    private static func described(_ fields: [String: JSONValue], _ media: OutgoingMedia) -> JSONValue {
        var fields = fields
        if let width = media.width, let height = media.height, width > 0, height > 0 {
            fields["aspectRatio"] = .object(["width": .integer(Int64(width)), "height": .integer(Int64(height))])
        }
        return .object(fields)
    }

    private static func embed(video blob: JSONValue, _ media: OutgoingMedia) -> JSONValue {
        described(
            ["$type": .string("app.bsky.embed.video"), "video": blob, "alt": .string(media.alt ?? "")],
            media
        )
    }
}
