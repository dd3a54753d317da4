import Foundation
import SocialAPI
import Wire

/// The limits of an instance, from `/api/v2/instance`.
enum MastodonLimits {
    /// Returns the limits to store in an account's details.
    static func details(_ instance: JSONValue) -> [String: String] {
        let configuration = instance["configuration"]
        let statuses = configuration?["statuses"]
        let media = configuration?["media_attachments"]
        let types = media?["supported_mime_types"].list.compactMap(\.text) ?? []
        let details: [String: String?] = [
            "characters": statuses?["max_characters"]?.count.map(String.init),
            "media": statuses?["max_media_attachments"]?.count.map(String.init),
            "photoBytes": media?["image_size_limit"]?.count.map(String.init),
            "videoBytes": media?["video_size_limit"]?.count.map(String.init),
            "types": types.isEmpty ? nil : types.joined(separator: ","),
            "streaming": configuration?["urls"]?["streaming"]?.nonEmpty,
        ]
        return details.compactMapValues { $0 }
    }

    /// Returns the limits in an account's details, with Mastodon's own defaults for missing ones.
    static func limits(_ details: [String: String]) -> PostLimits {
        let types = details["types"]?.split(separator: ",").map(String.init)
        let characters = details["characters"].flatMap { Int($0) } ?? 500
        return PostLimits(
            text: characters,
            textUnit: .characters,
            photos: details["media"].flatMap { Int($0) } ?? 4,
            photoBytes: details["photoBytes"].flatMap { Int($0) } ?? 16_777_216,
            photoTypes: types?.filter { $0.hasPrefix("image/") }
                ?? ["image/jpeg", "image/png", "image/gif", "image/webp"],
            videoBytes: details["videoBytes"].flatMap { Int($0) } ?? 103_809_024,
            videoTypes: types?.filter { $0.hasPrefix("video/") } ?? ["video/mp4", "video/webm", "video/quicktime"],
            reply: characters
        )
    }
}
