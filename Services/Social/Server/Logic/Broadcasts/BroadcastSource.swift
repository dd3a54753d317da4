import Foundation
import HTTPTypes
import NIOCore
import SocialAPI
import Wire

/// The client for Reddit's live broadcasts: `GET /broadcasts` of `strapi.reddit.com` (seed rpan), without a user's
/// token.
struct BroadcastSource: Sendable {
    struct Failure: Error {
        let reason: String
    }

    /// `RPAN_URL`, without a slash at the end.
    let baseURL: String
    let http: any NetworkHTTP
    /// The timeout of a request; shorter than the interval between polls.
    var timeout: Duration = .seconds(4)

    /// Returns all broadcasts of Reddit's list; entries that cannot be parsed are left out.
    func live() async throws -> [Broadcast] {
        var request = NetworkRequest(.get, "\(baseURL)/broadcasts?page_size=100")
        request.headers[.cacheControl] = "no-cache"
        request.headers[.accept] = "application/json"
        request.headers[.userAgent] = "server:org.example.roost:1 (broadcasts)"
        request.timeout = timeout
        let response = try await http.send(request)
        guard response.status == 200 else { throw Failure(reason: "status \(response.status)") }
        let document: JSONValue
        do {
            document = try JSONParser.parse(response.body.readableBytesView, repairing: true)
        } catch {
            throw Failure(reason: "not JSON")
        }
        // Reddit reports an error in the body with status 200.
        guard document["status"]?.text == "success", case .array(let items)? = document["data"] else {
            throw Failure(reason: document["data"]?.text ?? document["status"]?.text ?? "no list")
        }
        return items.compactMap { Broadcast(strapi: $0) }
    }
}

extension Broadcast {
    /// Creates a broadcast from one entry of Reddit's list.
    ///
    /// Fields inside `post` have names in camelCase; all others have names in snake_case. Reddit sends numbers as
    /// integers and as floats. Returns nil for an entry without `post` or `stream`, or if the id of the post does not
    /// have 1 to 64 bytes.
    init?(strapi item: JSONValue) {
        guard let post = item["post"], let stream = item["stream"], let id = post["id"]?.text,
            1...64 ~= id.utf8.count
        else { return nil }
        let subreddit = post["subreddit"]
        self.init(
            id: id,
            streamId: stream["stream_id"]?.text ?? id,
            broadcaster: post["authorInfo"]?["name"]?.text.flatMap { $0.isEmpty || $0 == "[deleted]" ? nil : $0 },
            title: post["title"]?.text ?? "",
            url: post["url"]?.text ?? item["share_link"]?.text ?? "",
            community: subreddit?["name"]?.text ?? "",
            communityIcon: subreddit?["styles"]?["icon"]?.link ?? subreddit?["styles"]?["legacyIcon"]?["url"]?.link,
            watchers: Int(clamping: Int32(clamping: item["continuous_watchers"]?.count ?? 0)),
            upvotes: item["upvotes"]?.count ?? 0,
            downvotes: item["downvotes"]?.count ?? 0,
            commentCount: post["commentCount"]?.count ?? 0,
            startedAt: stream["publish_at"]?.epoch,
            remaining: max(0, item["estimated_remaining_time"]?.double ?? 0),
            hlsUrl: stream["hls_url"]?.link,
            thumbnail: stream["thumbnail"]?.link,
            state: stream["state"]?.text == State.ended.rawValue ? .ended : .live
        )
    }
}
