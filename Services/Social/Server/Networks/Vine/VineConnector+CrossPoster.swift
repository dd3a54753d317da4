import Foundation
import HTTPTypes
import NIOCore
import SocialAPI
import Wire

extension VineConnector {
    private static let limits = PostLimits(
        text: 140,
        textUnit: .characters,
        videoBytes: 10_485_760,
        videoSeconds: 6.5,
        videoTypes: ["video/mp4"],
        needsMedia: true
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        AccountCapabilities(
            supported: [.feed, .notifications, .video, .like],
            limits: Self.limits,
            reasons: [
                .messages: "Vine offered messages only to its own applications",
                .reply: "Vine offered messages only to its own applications",
                .text: "a post on Vine is a video", .photo: "a post on Vine is a video",
                .location: "Vine accepts only Foursquare's places",
                .favorite: "Vine has likes instead of favourites",
            ]
        )
    }

    /// The URLs of the uploaded video and its thumbnail.
    private struct Prepared: Codable {
        var video: String
        var thumbnail: String
    }

    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try Self.limits.check(post)
        guard let video = post.video else { return nil }
        let name = "\(post.key.uuidString.lowercased()).mp4"
        let videoURL = try await send(video.bytes, video.type, "videos/\(name)", account)
        let thumbnailURL = try await send(ByteBuffer(bytes: Self.blank), "image/jpeg", "thumbs/\(name).jpg", account)
        return try NetworkCursor(Prepared(video: videoURL, thumbnail: thumbnailURL))
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try Self.limits.check(post)
        guard let prepared = try prepared?.read(as: Prepared.self) else {
            throw NetworkError(.invalid, "a post on Vine is a video", code: "media_missing")
        }
        let body: JSONValue = .object([
            "videoUrl": .string(prepared.video), "thumbnailUrl": .string(prepared.thumbnail),
            "description": .string(post.text), "entities": .array([]), "channelId": .string("0"),
        ])
        let request = try signed(.json("\(key.baseURL)/posts", body), account)
        let (json, budget) = try await calls.json(request, isWrite: true)
        return PublishedPost(
            id: try json.createdID("data", "postId"),
            url: json["data"]?["permalinkUrl"]?.link,
            budget: budget
        )
    }

    /// Searches the account's latest posts for the uploaded video's URL, or for the same text.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        let prepared = try prepared?.read(as: Prepared.self)
        let (json, budget) = try await read("/timelines/users/\(try me(account))", account)
        let found = (json["data"]?["records"]).list.first { record in
            prepared.map { record["videoUrl"]?.text == $0.video } ?? false
                || record["description"]?.text == post.text
                    && (record["created"]?.date).map { $0 >= post.createdAt.addingTimeInterval(-60) } == true
        }
        return found?["postId"]?.identifier.map {
            PublishedPost(id: $0, url: found?["permalinkUrl"]?.link, budget: budget)
        }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        // A like of a repost is a like of the post.
        let post = id.split(separator: "/").last.map(String.init) ?? id
        let request = NetworkRequest.form("\(key.baseURL)/posts/\(post.pathSegment)/likes", [:])
        let (_, budget) = try await calls.json(signed(request, account), isWrite: true)
        return PublishedPost(id: post, budget: budget)
    }

    /// Uploads a file; Vine returns its URL in a header.
    private func send(
        _ bytes: ByteBuffer,
        _ type: String,
        _ name: String,
        _ account: NetworkAccount
    ) async throws -> String {
        let mediaURL = key.endpoint("MEDIA_URL", where: Self.defaultURL, "https://media.vineapp.com")
        var request = NetworkRequest(.put, "\(mediaURL)/upload/\(name)", body: bytes)
        request.headers[.contentType] = type
        let response = try await calls.send(signed(request, account))
        guard let uploadKey = response.header("x-upload-key") else {
            throw NetworkError(.transient, "Vine returned no URL for the upload")
        }
        return uploadKey
    }

    /// A grey JPEG of one pixel: Vine requires a thumbnail, and clients send none.
    private static let blank: [UInt8] = Array(
        Data(
            base64Encoded:
                "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8Q"
                + "EBEQCgwSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAI"
                + "AQEAAD8AVN//2Q=="
        ) ?? Data()
    )
}
