import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of five networks as granary's tests have them, abridged and of different years.
@Suite("Values of granary's tests", .enabled(if: Recordings.folder != nil, "run by make recorded"))
struct RecordedGranaryTests {
    /// Returns the complete values of a network: those with all fields that the network always sends.
    private func known(_ network: String, with fields: [String]) throws -> [[String: Any]] {
        try Recordings.granary.get().filter { $0.network == network }.flatMap { value in
            ReferenceJSON.objects(in: try ReferenceJSON.read(value.body)) { object in
                fields.allSatisfy { object[$0] != nil && !(object[$0] is NSNull) }
            }
        }
    }

    @Test("Posts and reposts of Bluesky are read completely")
    func bluesky() async throws {
        let posts = try known("bluesky", with: ["uri", "cid", "record", "author", "indexedAt"])
        let wrapped = posts.map { ["post": $0] } + (try known("bluesky", with: ["post", "reason"]))
        let network = RecordedNetwork()
        let feed = #"{"feed":\#(try ReferenceJSON.text(of: wrapped))}"#
        network.answer("GET https://pds/xrpc/app.bsky.feed.getTimeline", 200, feed)
        let bluesky = BlueskyConnector(ConnectorParts(network, "https://pds"), pause: noPause)

        let page = try await bluesky.feed(PageRequest(limit: 100, includesRaw: true), as: .ann(id: "did:plc:me"))

        expectAll(page.items.map(\.item), of: wrapped, "granary's bluesky")
        for (item, wrapping) in zip(page.items, wrapped) {
            let post = try #require(wrapping["post"] as? [String: Any])
            #expect(item.original == post["uri"] as? String)
            #expect(item.item.text == (post["record"] as? [String: Any])?["text"] as? String)
            let embed = post["embed"] as? [String: Any]
            if embed?["external"] != nil { #expect(item.item.media.first?.kind == .link) }
            if let images = embed?["images"] as? [Any] { #expect(item.item.media.count == images.count) }
        }
        #expect(posts.count >= 10)
        Recordings.say("bluesky: \(wrapped.count) posts and reposts; there are no recorded notifications or chats")
    }

    @Test("Tweets of API 1.1 are read completely")
    func twitter() async throws {
        let tweets = try known("twitter", with: ["id_str", "user", "created_at", "full_text"])
        let network = RecordedNetwork()
        network.answer(
            "GET https://api.twitter.com/1.1/statuses/home_timeline.json",
            200,
            try ReferenceJSON.text(of: tweets)
        )
        let twitter = TwitterConnector(ConnectorParts(network, TwitterConnector.defaultURL), pause: noPause)
        let ann = NetworkAccount.ann(NetworkTokens(access: "token", secret: "secret"))

        let page = try await twitter.feed(PageRequest(limit: 200, includesRaw: true), as: ann)

        expectAll(page.items.map(\.item), of: tweets, "granary's twitter")
        for (item, tweet) in zip(page.items.map(\.item), tweets) {
            #expect(item.id.native == tweet["id_str"] as? String)
            #expect(!item.text.isEmpty)
            #expect(item.author?.username == (tweet["user"] as? [String: Any])?["screen_name"] as? String)
            let files = (tweet["extended_entities"] ?? tweet["entities"]) as? [String: Any]
            #expect(item.media.count >= (files?["media"] as? [Any])?.count ?? 0)
        }
        #expect(tweets.count >= 5)
        Recordings.say(
            "twitter: \(tweets.count) tweets of API 1.1; there are no recorded messages or responses of API 2"
        )
    }

    @Test("Posts of Facebook are read completely")
    func facebook() async throws {
        let posts = try known("facebook", with: ["id", "from", "created_time", "privacy"])
        let network = RecordedNetwork()
        let body = #"{"data":\#(try ReferenceJSON.text(of: posts))}"#
        network.answer("GET https://graph.facebook.com/v2.3/me/home", 200, body)
        var parts = ConnectorParts(network, FacebookConnector.defaultURL)
        parts.key.others = ["API": "personal"]

        let page = try await FacebookConnector(parts).feed(PageRequest(limit: 100, includesRaw: true), as: .ann())

        expectAll(page.items.map(\.item), of: posts, "granary's facebook")
        for (item, post) in zip(page.items.map(\.item), posts) {
            #expect(item.author?.id == (post["from"] as? [String: Any])?["id"] as? String)
            for field in ["message", "story"] where post[field] != nil {
                #expect(item.text.contains(post[field] as? String ?? "?") || field == "story")
            }
        }
        #expect(posts.count >= 3)
        Recordings.say("facebook: \(posts.count) posts; there are no recorded conversations of pages")
    }

    @Test("Media of Instagram API v1 are read completely")
    func instagram() async throws {
        let media = try known("instagram", with: ["id", "user", "images", "created_time"])
        let network = RecordedNetwork()
        let body = #"{"meta":{"code":200},"data":\#(try ReferenceJSON.text(of: media)),"pagination":{}}"#
        network.answer("GET https://graph.instagram.com/v1/users/self/feed", 200, body)
        var parts = ConnectorParts(network, InstagramConnector.defaultURL)
        parts.key.others = ["API": "v1"]

        let page = try await InstagramConnector(parts, pause: noPause)
            .feed(PageRequest(limit: 100, includesRaw: true), as: .ann())

        expectAll(page.items.map(\.item), of: media, "granary's instagram")
        for (item, value) in zip(page.items.map(\.item), media) {
            #expect(item.author?.username == (value["user"] as? [String: Any])?["username"] as? String)
            #expect(item.media.first?.kind == (value["type"] as? String == "video" ? .video : .photo))
            #expect(item.text == (value["caption"] as? [String: Any])?["text"] as? String ?? "")
        }
        #expect(media.count >= 3)
        Recordings.say(
            "instagram: \(media.count) media of API v1; there are no recordings of the current API, Tumblr or Vine"
        )
    }

    @Test("Statuses of Mastodon are read completely")
    func mastodon() async throws {
        let statuses = try known("mastodon", with: ["id", "uri", "account", "content", "created_at"])
        let network = RecordedNetwork()
        network.answer("GET https://h/api/v1/timelines/home", 200, try ReferenceJSON.text(of: statuses))
        let mastodon = MastodonConnector(ConnectorParts(network, ""), pause: noPause)

        let page = try await mastodon.feed(PageRequest(limit: 40, includesRaw: true), as: .ann(instance: "https://h"))

        expectAll(page.items.map(\.item), of: statuses, "granary's mastodon")
        #expect(statuses.count >= 8)
        Recordings.say("mastodon: \(statuses.count) statuses")
    }
}
