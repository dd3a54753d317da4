import Foundation
import HTTPTypes
import Multipart
import NIOCore
import OAuth1
import SocialAPI
import Wire

extension TumblrConnector {
    private static let limits = PostLimits(
        text: 40_960,
        textUnit: .characters,
        photos: 30,
        photoBytes: 20_971_520,
        photoTypes: ["image/jpeg", "image/png", "image/gif", "image/webp"],
        videoBytes: 524_288_000,
        videoTypes: ["video/mp4", "video/quicktime"]
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        let noMessages = "Tumblr's API has no messages"
        return AccountCapabilities(
            supported: [.feed, .notifications, .text, .photo, .video, .like],
            limits: Self.limits,
            reasons: [
                .messages: noMessages, .reply: noMessages, .location: "Tumblr's posts have no location",
                .favorite: "Tumblr has likes instead of favourites",
            ]
        )
    }

    /// Publishes in one request: media are parts of the same form.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try Self.limits.check(post)
        let media = post.photos + (post.video.map { [$0] } ?? [])
        var blocks = Self.paragraphs(post.text).map {
            JSONValue.object(["type": .string("text"), "text": .string($0)])
        }
        for (index, medium) in media.enumerated() { blocks.append(Self.block(medium, "media\(index)")) }
        let body: JSONValue = .object(["content": .array(blocks), "state": .string("published")])
        let url = "\(key.baseURL)/v2/blog/\(blog(account).pathSegment)/posts"
        let request: NetworkRequest
        if media.isEmpty {
            request = try .json(url, body)
        } else {
            var form = MultipartForm()
            form.add("json", contentType: "application/json", ByteBuffer(bytes: try body.compact()))
            for (index, medium) in media.enumerated() {
                form.add("media\(index)", fileName: medium.fileName, contentType: medium.type, medium.bytes)
            }
            request = .multipart(url, form)
        }
        let (json, budget) = try await send(request, account, isWrite: true)
        return posted(try json.createdID("id"), account, budget)
    }

    /// Searches the blog's latest posts.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        let url = "\(key.baseURL)/v2/blog/\(blog(account).pathSegment)/posts".adding(["npf": "true", "limit": "20"])
        let (json, budget) = try await send(.get(url), account)
        let parser = TumblrItems(page: PageRequest())
        let expected = Self.words(post.text)
        let found = json["posts"].list.compactMap { parser.post($0)?.item }.first {
            Self.words($0.text) == expected && $0.createdAt >= post.createdAt.addingTimeInterval(-60)
                && $0.media.count == post.photos.count + (post.video == nil ? 0 : 1)
        }
        return found.map { PublishedPost(id: $0.id.native, url: $0.url, budget: budget) }
    }

    /// Likes a post, which requires the post's reblog key.
    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        let parts = id.split(separator: "/").map(String.init)
        guard parts.count == 2 else { throw NetworkError(.notFound, "there is no such post") }
        let url = "\(key.baseURL)/v2/blog/\(parts[0].pathSegment)/posts/\(parts[1].pathSegment)"
        let (post, _) = try await send(.get(url), account)
        guard let reblogKey = post["reblog_key"]?.nonEmpty else {
            throw NetworkError(.permission, "the post cannot be liked, because Tumblr returned no reblog key for it")
        }
        let form = [FormField("id", parts[1]), FormField("reblog_key", reblogKey)]
        let request = NetworkRequest.form("\(key.baseURL)/v2/user/like", form)
        let (_, budget) = try await send(request, account, form: form, isWrite: true)
        return PublishedPost(id: id, url: post["post_url"]?.link, budget: budget)
    }

    // MARK: -

    /// Splits a text into blocks of at most 4,096 characters, at a space if possible.
    static func paragraphs(_ text: String) -> [String] {
        text.split(separator: /\n\s*\n/).flatMap { paragraph -> [String] in
            var pieces: [String] = []
            var rest = paragraph.unicodeScalars[...]
            while rest.count > 4_096 {
                let most = rest.prefix(4_096)
                let end = most.lastIndex(where: \.properties.isWhitespace) ?? most.endIndex
                let cut = end == most.startIndex ? most.endIndex : end
                pieces.append(String(rest[..<cut]).trimmingCharacters(in: .whitespaces))
                rest = rest[cut...]
            }
            pieces.append(String(rest).trimmingCharacters(in: .whitespaces))
            return pieces.filter { !$0.isEmpty }
        }
    }

    private static func block(_ media: OutgoingMedia, _ name: String) -> JSONValue {
        var file: [String: JSONValue] = ["type": .string(media.type), "identifier": .string(name)]
        if let width = media.width, let height = media.height {
            file["width"] = .integer(Int64(width))
            file["height"] = .integer(Int64(height))
        }
        let isVideo = media.type.hasPrefix("video/")
        var block: [String: JSONValue] = [
            "type": .string(isVideo ? "video" : "image"), "media": isVideo ? .object(file) : .array([.object(file)]),
        ]
        if let alt = media.alt, !alt.isEmpty, !isVideo { block["alt_text"] = .string(alt) }
        return .object(block)
    }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

    private func posted(_ number: String, _ account: NetworkAccount, _ budget: Budget?) -> PublishedPost {
        let blog = blog(account)
        return PublishedPost(id: "\(blog)/\(number)", url: "https://\(blog).tumblr.com/post/\(number)", budget: budget)
    }
}
