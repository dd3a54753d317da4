import Foundation
import SocialAPI
import Wire

extension InstagramConnector {
    private static let limits = PostLimits(
        text: 2_200,
        textUnit: .characters,
        photos: 10,
        photoBytes: 8_388_608,
        photoTypes: ["image/jpeg"],
        videoBytes: 104_857_600,
        videoTypes: ["video/mp4", "video/quicktime"],
        reply: 1_000,
        needsMedia: true
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        let favorite = "Instagram has likes instead of favourites"
        if isV1 {
            let noPosts = "Instagram's v1 API cannot post"
            return AccountCapabilities(
                supported: [.feed, .notifications, .like],
                limits: Self.limits,
                reasons: [
                    .messages: "Instagram's v1 API has no messages", .reply: "Instagram's v1 API has no messages",
                    .text: noPosts,
                    .photo: noPosts, .video: noPosts, .location: noPosts, .favorite: favorite,
                ]
            )
        }
        return AccountCapabilities(
            supported: [.feed, .messages, .photo, .video, .reply],
            limits: Self.limits,
            reasons: [
                .text: "a post on Instagram is a photo or a video", .favorite: favorite,
                .notifications: "Instagram reports events only by webhook",
                .location: "Instagram accepts only its own places", .like: "Instagram's API cannot send likes",
            ]
        )
    }

    private struct Prepared: Codable {
        var container: String
        /// Whether Instagram has processed the media; nil in rows of earlier releases, which waited for it.
        var isReady: Bool?
    }

    /// Instagram accepts no bytes: it fetches the files from the URLs in the request.
    var fetchesMedia: Bool { !isV1 }

    /// Creates a container of media that Instagram fetches itself; the container is valid for a day.
    ///
    /// A video takes minutes to process. The container is returned earlier, and `publish` throws while it is not ready.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        guard !isV1 else { throw NetworkError.unsupported("Instagram's v1 API cannot post") }
        try Self.limits.check(post)
        if !post.photos.isEmpty, post.video != nil {
            throw NetworkError(.invalid, "a post has photos or a video, not both", code: "mixed_media")
        }
        for photo in post.photos {
            guard let width = photo.width, let height = photo.height, width > 0, height > 0 else { continue }
            guard (0.8...1.91).contains(Double(width) / Double(height)) else {
                throw NetworkError(
                    .invalid,
                    "the aspect ratio of a photo must be between 4:5 and 1.91:1",
                    code: "photo_aspect"
                )
            }
        }
        let container: String
        if post.photos.count > 1 {
            var children: [String] = []
            for photo in post.photos {
                children.append(
                    try await createContainer(
                        ["image_url": try Self.address(photo), "is_carousel_item": "true", "alt_text": photo.alt],
                        account
                    )
                )
            }
            let joined = children.joined(separator: ",")
            container = try await createContainer(
                ["media_type": "CAROUSEL", "children": joined, "caption": post.text],
                account
            )
        } else if let video = post.video {
            container = try await createContainer(
                ["media_type": "REELS", "video_url": try Self.address(video), "caption": post.text],
                account
            )
        } else if let photo = post.photos.first {
            container = try await createContainer(
                ["image_url": try Self.address(photo), "caption": post.text, "alt_text": photo.alt],
                account
            )
        } else {
            return nil
        }
        var isReady = false
        for check in 0..<Self.maximumChecks where !isReady {
            if check > 0 { try await pause(.seconds(1 << (check - 1))) }
            isReady = try await self.isReady(container, account)
        }
        return try NetworkCursor(Prepared(container: container, isReady: isReady))
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        guard let prepared = try prepared?.read(as: Prepared.self) else {
            throw NetworkError(.invalid, "a post needs a photo or a video", code: "media_missing")
        }
        let container = prepared.container
        if prepared.isReady == false {
            guard try await isReady(container, account) else {
                throw NetworkError(.transient, "Instagram is still processing the media", code: "media_processing")
            }
        }
        let (json, budget) = try await graph.write(
            "\(me(account))/media_publish",
            ["creation_id": container],
            account.tokens.access
        )
        return PublishedPost(id: try json.createdID("id"), budget: budget)
    }

    /// Reads from the container whether it was published, and finds the media among the account's latest.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        guard let container = try prepared?.read(as: Prepared.self).container else { return nil }
        let (status, _) = try await graph.read(
            container.pathSegment,
            ["fields": "status_code,status"],
            account.tokens.access
        )
        guard status["status_code"]?.text == "PUBLISHED" else { return nil }
        let page = try await feed(PageRequest(limit: 10), as: account)
        let item = page.items.map(\.item).first {
            $0.text == post.text && $0.createdAt >= post.createdAt.addingTimeInterval(-60)
        }
        return PublishedPost(id: item?.id.native, url: item?.url, budget: page.budget)
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        guard !isV1 else { throw NetworkError.unsupported("Instagram's v1 API has no messages") }
        try Self.limits.check(reply)
        let (thread, _) = try await graph.read(
            reply.thread.pathSegment,
            ["fields": "participants"],
            account.tokens.access
        )
        let people = (thread["participants"]?["data"]).list.compactMap { $0["id"]?.identifier }
        guard let other = people.first(where: { $0 != account.id }) else {
            throw NetworkError(.notFound, "the thread has no other participant")
        }
        let body: JSONValue = .object([
            "recipient": .object(["id": .string(other)]), "message": .object(["text": .string(reply.text)]),
        ])
        let url = "\(graph.base)/me/messages".adding(graph.proof(of: account.tokens.access))
        let (json, budget) = try await graph.write(try .json(url, body), account.tokens.access)
        return PublishedPost(id: try json.createdID("message_id"), budget: budget)
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let page = try await messages(of: reply.thread, PageRequest(), as: account)
        let item = page.items.map(\.item).first {
            $0.author?.id == account.id && $0.text == reply.text
                && $0.createdAt >= reply.createdAt.addingTimeInterval(-60)
        }
        return item.map { PublishedPost(id: $0.id.native, budget: page.budget) }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        guard isV1 else { throw NetworkError.unsupported("Instagram's API cannot send likes") }
        let (_, budget) = try await write("/media/\(id.pathSegment)/likes", account)
        return PublishedPost(id: id, budget: budget)
    }

    // MARK: -

    private func me(_ account: NetworkAccount) -> String { account.id?.pathSegment ?? "me" }

    private static func address(_ media: OutgoingMedia) throws -> String {
        guard let url = media.url else {
            throw NetworkError(
                .invalid,
                "Instagram fetches media by URL, and this file has none",
                code: "media_unreachable"
            )
        }
        return url
    }

    private func createContainer(
        _ fields: KeyValuePairs<String, String?>,
        _ account: NetworkAccount
    ) async throws -> String {
        let (json, _) = try await graph.write("\(me(account))/media", fields, account.tokens.access, isWrite: false)
        guard let id = json["id"]?.identifier else {
            throw NetworkError(.transient, "Instagram returned no container id")
        }
        return id
    }

    /// The status checks, after pauses of 1, 2 and 4 seconds.
    ///
    /// Photos need less time, and an immediate post must respond.
    private static let maximumChecks = 4

    private func isReady(_ container: String, _ account: NetworkAccount) async throws -> Bool {
        let (json, _) = try await graph.read(
            container.pathSegment,
            ["fields": "status_code,status"],
            account.tokens.access
        )
        switch json["status_code"]?.text {
        case "FINISHED", "PUBLISHED": return true
        case "ERROR", "EXPIRED":
            let reason = NetworkError.oneLine(json["status"]?.text ?? "Instagram rejected the media")
            throw NetworkError(.invalid, reason, code: json["status_code"]?.text)
        default: return false
        }
    }
}
