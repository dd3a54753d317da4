import Configuration
import ServiceHost
import SocialAPI

extension ApplicationKey {
    /// Returns a network's further settings, by their names without the network's prefix.
    ///
    /// - Throws: `SettingError` for a value that is not allowed.
    static func others(of network: Network, _ configuration: ConfigReader) throws -> [String: String] {
        let settings: [String: String?] =
            switch network {
            case .facebook:
                [
                    "API": try one(of: ["pages", "personal"], configuration.text("FACEBOOK_API"), "FACEBOOK_API"),
                    "VERSION": configuration.text("FACEBOOK_VERSION"),
                    "VERIFY_TOKEN": configuration.text("FACEBOOK_VERIFY_TOKEN"),
                ]
            case .instagram:
                [
                    "API": try one(of: ["graph", "v1"], configuration.text("INSTAGRAM_API"), "INSTAGRAM_API"),
                    "VERSION": configuration.text("INSTAGRAM_VERSION"),
                    "VERIFY_TOKEN": configuration.text("INSTAGRAM_VERIFY_TOKEN"),
                ]
            case .twitter: ["API": try one(of: ["1.1", "2"], configuration.text("TWITTER_API"), "TWITTER_API")]
            case .tumblr: ["API": try one(of: ["1", "2"], configuration.text("TUMBLR_API"), "TUMBLR_API")]
            default: [:]
            }
        return settings.compactMapValues { $0 }
    }

    private static func one(of values: [String], _ value: String?, _ name: String) throws -> String? {
        guard let value, !values.contains(value) else { return value }
        throw SettingError(name, "is \"\(value)\"; it must be \(values.joined(separator: " or "))")
    }

    /// Returns all URLs that the connector may call; most networks have several hosts.
    func endpoints(of network: Network) -> [String] {
        let siblings: [String] =
            switch network {
            case .facebook:
                [endpoint("VIDEO_URL", where: FacebookConnector.defaultURL, "https://graph-video.facebook.com")]
            case .twitter: [endpoint("UPLOAD_URL", where: TwitterConnector.defaultURL, "https://upload.twitter.com")]
            case .instagram: [endpoint("TOKEN_URL", where: InstagramConnector.defaultURL, "https://api.instagram.com")]
            case .vine: [endpoint("MEDIA_URL", where: VineConnector.defaultURL, "https://media.vineapp.com")]
            case .tumblr: [endpoint("WWW_URL", where: TumblrConnector.defaultURL, "https://www.tumblr.com")]
            case .reddit:
                [
                    endpoint("WWW_URL", where: RedditConnector.defaultURL, "https://www.reddit.com"),
                    // The storage to which clients upload photos.
                    endpoint(
                        "MEDIA_URL",
                        where: RedditConnector.defaultURL,
                        "https://reddit-uploaded-media.s3-accelerate.amazonaws.com"
                    ),
                ]
            case .mastodon, .bluesky, .roost: []
            }
        return [baseURL] + siblings
    }
}
