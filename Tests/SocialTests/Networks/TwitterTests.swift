import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of both APIs in their recorded format.
@Suite("Twitter reads") struct TwitterTests {
    private let network = RecordedNetwork()
    private let first = NetworkAccount.ann(id: "30", NetworkTokens(access: "tk", secret: "ts"))
    private let second = NetworkAccount.ann(id: "2244994945", NetworkTokens(access: "bearer"))
    private var twitter: TwitterConnector { Self.connector(network) }

    static func connector(_ network: RecordedNetwork, _ others: [String: String] = [:]) -> TwitterConnector {
        var parts = ConnectorParts(network, "https://t", id: "ck", secret: "cs")
        parts.key.others = others
        parts.now = { Date(timeIntervalSince1970: 1_700_000_000) }
        return TwitterConnector(parts, pause: noPause, nonce: { "n0nce" })
    }

    @Test("The home timeline of API 1.1 is read and paged")
    func homeTimeline() async throws {
        let limits = ["x-rate-limit-limit": "15", "x-rate-limit-remaining": "14", "x-rate-limit-reset": "1700000900"]
        network.answer(
            "GET https://t/1.1/statuses/home_timeline.json",
            200,
            "[\(TwitterShapes.tweet),\(TwitterShapes.retweet)]",
            limits
        )
        network.answer("GET https://t/1.1/statuses/home_timeline.json", 200, "[]")

        let page = try await twitter.feed(PageRequest(), as: first)
        let end = try await twitter.feed(PageRequest(cursor: page.next), as: first)

        let tweet = page.items[0].item
        #expect(tweet.id.native == "1149867886946783232")
        #expect(tweet.kind == .post)
        #expect(tweet.text == "testing <3 https://example.com/long")
        #expect(
            tweet.media == [
                ItemMedia(
                    kind: .photo,
                    url: "https://pbs/1.png",
                    thumbnailUrl: "https://pbs/1.png",
                    width: 1252,
                    height: 626
                ),
                ItemMedia(kind: .video, url: "https://video/hi.mp4", thumbnailUrl: "https://pbs/2.png", duration: 1.5),
            ]
        )
        #expect(tweet.author?.username == "TweepyDev")
        #expect(tweet.url == "https://twitter.com/TweepyDev/status/1149867886946783232")
        #expect(tweet.location == ItemLocation(latitude: 37.5, longitude: -122.25, name: "Berlin"))
        #expect(tweet.stats == ItemStats(likes: 2, reposts: 1))
        #expect(tweet.liked == true)
        let retweet = page.items[1]
        #expect(retweet.item.kind == .repost)
        #expect(retweet.original == "twitter:90")
        #expect(retweet.item.text == "the whole of it")
        #expect(retweet.item.about?.author?.username == "bo")
        #expect(
            page.budget
                == Budget(
                    scope: .account,
                    limit: 15,
                    remaining: 14,
                    resetAt: Date(timeIntervalSince1970: 1_700_000_900)
                )
        )
        // `max_id` is inclusive, so the cursor is one below the lowest id.
        #expect(network.asked.map { $0.query("max_id") } == [nil, "99"])
        #expect(end.next == nil)
    }

    @Test("The OAuth 1.0a signature equals that of another implementation")
    func signature() async throws {
        let signed = try twitter.signed(
            .get(
                "https://api.twitter.com/1.1/statuses/home_timeline.json?count=20&max_id=1149867427863379967&tweet_mode=extended"
            ),
            first
        )
        #expect(
            signed.header("authorization")?.contains("oauth_signature=\"HF0YXMjuMKh%2BnCqlBQF%2B4JhbOtk%3D\"") == true
        )
    }

    @Test("Private messages of API 1.1 are grouped into threads")
    func messages() async throws {
        for _ in 0..<2 {
            network.answer("GET https://t/1.1/direct_messages/events/list.json", 200, TwitterShapes.events)
            network.answer(
                "POST https://t/1.1/users/lookup.json",
                200,
                #"[{"id_str":"43","screen_name":"bo","name":"Bo"}]"#
            )
        }
        network.answer(
            "GET https://t/1.1/direct_messages/events/list.json",
            200,
            #"{"events":[],"next_cursor":"more"}"#
        )

        let threads = try await twitter.threads(PageRequest(), as: first)
        let messages = try await twitter.messages(of: "30-43", PageRequest(), as: first)
        let empty = try await twitter.threads(PageRequest(cursor: threads.next), as: first)

        #expect(threads.items.map(\.item.thread) == ["30-43", "7-30"])
        #expect(threads.items[0].item.text == "Hello & <you>")
        #expect(threads.items[0].item.participants?.map(\.name) == ["Bo"])
        #expect(threads.items[1].item.participants?.map(\.name) == ["7"])
        #expect(messages.items.map(\.item.text) == ["Hello & <you>", "first"])
        #expect(messages.items[1].item.author?.username == "bo")
        #expect(messages.items[0].item.createdAt == Date(timeIntervalSince1970: 1_516_403_560.557))
        #expect(empty.items.isEmpty)
        #expect(empty.next != nil)
        #expect(network.last?.query("cursor") == "MTE0")
    }

    @Test("The home timeline of API 2 is read and paged")
    func v2Timeline() async throws {
        let path = "GET https://t/2/users/2244994945/timelines/reverse_chronological"
        network.answer(path, 200, TwitterShapes.second)
        network.answer(path, 200, #"{"meta":{"result_count":0}}"#)

        let page = try await twitter.feed(PageRequest(limit: 1, includesRaw: true), as: second)
        let end = try await twitter.feed(PageRequest(cursor: page.next), as: second)

        #expect(page.items.map(\.item.kind) == [.reply, .repost])
        let post = page.items[0].item
        #expect(post.text == "Today marks & more https://example.com/long")
        #expect(post.author?.username == "XDevelopers")
        #expect(
            post.media == [
                ItemMedia(kind: .photo, url: "https://pbs/m.jpg", thumbnailUrl: "https://pbs/m.jpg", alt: "alt")
            ]
        )
        #expect(post.about?.id.native == "15")
        #expect(post.stats == ItemStats(likes: 3, comments: 0, reposts: 1))
        #expect(post.location?.name == "Berlin")
        #expect(page.items[1].original == "twitter:90")
        #expect(page.items[1].item.text == "original")
        #expect(page.items[1].item.about?.author?.name == "Bo")
        #expect(network.asked.map { $0.query("pagination_token") } == [nil, "7140dibdnow9c7btw421"])
        #expect(network.asked[0].query("max_results") == "5")
        #expect(network.asked[0].header("authorization") == "Bearer bearer")
        #expect(end.items.isEmpty)
        #expect(end.next == nil)
    }

    @Test("Private messages of API 2 are read as threads")
    func v2Messages() async throws {
        let body =
            #"{"data":[{"event_type":"MessageCreate","id":"9","text":"Testing 2","sender_id":"7","dm_conversation_id":"7-2244994945","created_at":"2022-10-28T01:00:00.000Z"},{"event_type":"ParticipantsJoin","id":"8"}],"includes":{"users":[{"id":"7","name":"Bo","username":"bo"}]},"meta":{"result_count":2,"next_token":"N"}}"#
        network.answer("GET https://t/2/dm_events", 200, body)
        network.answer("GET https://t/2/dm_conversations/7-2244994945/dm_events", 200, body)

        let threads = try await twitter.threads(PageRequest(), as: second)
        let messages = try await twitter.messages(of: "7-2244994945", PageRequest(), as: second)

        #expect(threads.items.map(\.item.thread) == ["7-2244994945"])
        #expect(threads.next != nil)
        #expect(threads.items[0].item.participants?.map(\.username) == ["bo"])
        #expect(messages.items.map(\.item.id.native) == ["message/9"])
    }

    @Test(
        "An error response has the class of its code",
        arguments: [
            (
                429, #"{"errors":[{"code":88,"message":"Rate limit exceeded"}]}"#,
                NetworkError.Class.rateLimited(until: Date(timeIntervalSince1970: 1_700_000_900))
            ),
            (401, #"{"errors":[{"code":89,"message":"Invalid or expired token."}]}"#, .auth),
            (401, #"{"errors":[{"code":135,"message":"Timestamp out of bounds."}]}"#, .transient),
            (403, #"{"errors":[{"code":64,"message":"Your account is suspended"}]}"#, .permission),
            (403, #"{"errors":[{"code":187,"message":"Status is a duplicate."}]}"#, .invalid),
            (404, #"{"errors":[{"code":144,"message":"No status found with that ID."}]}"#, .notFound),
            (503, #"{"errors":[{"code":130,"message":"Over capacity"}]}"#, .transient),
            (
                429, #"{"title":"Too Many Requests","detail":"Too Many Requests","type":"about:blank","status":429}"#,
                .rateLimited(until: Date(timeIntervalSince1970: 1_700_000_900))
            ),
            (
                429, #"{"title":"UsageCapExceeded","type":"https://api.twitter.com/2/problems/usage-capped"}"#,
                .rateLimited(until: Date(timeIntervalSince1970: 1_700_086_400))
            ),
            (401, #"{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}"#, .auth),
            (
                403,
                #"{"title":"Client Forbidden","reason":"client-not-enrolled","type":"https://api.twitter.com/2/problems/client-forbidden"}"#,
                .unsupported
            ),
            (
                403, #"{"title":"Forbidden","type":"https://api.twitter.com/2/problems/not-authorized-for-resource"}"#,
                .permission
            ),
        ]
    )
    func errors(status: Int, body: String, kind: NetworkError.Class) async {
        let limits = ["x-rate-limit-limit": "15", "x-rate-limit-remaining": "0", "x-rate-limit-reset": "1700000900"]
        network.answer("GET https://t/1.1/statuses/home_timeline.json", status, body, limits)

        #expect(await failure { try await twitter.feed(PageRequest(), as: first) }?.kind == kind)
    }

    /// The values of the network's documentation of webhooks, computed by another implementation.
    @Test("Webhook handshakes and signatures equal the documented ones")
    func webhooks() throws {
        var parts = ConnectorParts(network, "https://t", id: "ck", secret: "consumer-secret")
        parts.now = { testNow }
        let twitter = TwitterConnector(parts)
        #expect(
            try twitter.handshake(["crc_token": "challenge_string"]).body
                == #"{"response_token":"sha256=S/mG8E9n5SjoGuCqHguvP8K8uuu5ogCPF0dOpIdyZlk="}"#
        )
        let body = ByteBuffer(string: "challenge_string")
        let signature = "sha256=S/mG8E9n5SjoGuCqHguvP8K8uuu5ogCPF0dOpIdyZlk="
        let name = "x-twitter-webhooks-signature"
        // The first delivery is signed but not JSON. The others have a changed or no signature.
        #expect(throws: NetworkError(.invalid, "the delivery is not JSON")) {
            try twitter.events(of: WebhookDelivery(headers: [name: signature], body: body))
        }
        for headers in [[name: "sha256=S/mG8E9n5SjoGuCqHguvP8K8uuu5ogCPF0dOpIdyZlk"], [:], [name: ""]] {
            let refused = #expect(throws: NetworkError.self) {
                try twitter.events(of: WebhookDelivery(headers: headers, body: body))
            }
            #expect(refused?.kind == .permission)
        }
    }
}

enum TwitterShapes {
    static let tweet = #"""
        {"created_at":"Sat Jul 13 02:27:22 +0000 2019","id":1149867886946783232,"id_str":"1149867886946783232","full_text":"testing &lt;3 https://t.co/link https://t.co/n9TJoijXxg","truncated":false,"entities":{"hashtags":[],"urls":[{"url":"https://t.co/link","expanded_url":"https://example.com/long"}],"media":[{"url":"https://t.co/n9TJoijXxg","media_url_https":"https://pbs/1.png","type":"photo"}]},"extended_entities":{"media":[{"url":"https://t.co/n9TJoijXxg","media_url_https":"https://pbs/1.png","type":"photo","sizes":{"large":{"w":1252,"h":626,"resize":"fit"}}},{"url":"https://t.co/n9TJoijXxg","media_url_https":"https://pbs/2.png","type":"video","video_info":{"duration_millis":1500,"variants":[{"content_type":"application/x-mpegURL","url":"https://video/pl.m3u8"},{"bitrate":256000,"content_type":"video/mp4","url":"https://video/lo.mp4"},{"bitrate":832000,"content_type":"video/mp4","url":"https://video/hi.mp4"}]}}]},"in_reply_to_status_id_str":null,"user":{"id_str":"1072250532645998596","name":"Tweepy Testing","screen_name":"TweepyDev","profile_image_url_https":"https://abs/x.png"},"coordinates":{"type":"Point","coordinates":[-122.25,37.5]},"place":{"full_name":"Berlin"},"is_quote_status":false,"retweet_count":1,"favorite_count":2,"favorited":true,"retweeted":false,"lang":"en"}
        """#
    static let retweet = #"""
        {"created_at":"Sat Jul 13 02:27:21 +0000 2019","id_str":"100","full_text":"RT @bo: the who…","user":{"id_str":"3","screen_name":"cara","name":"Cara"},"entities":{},"retweeted_status":{"created_at":"Sat Jul 13 02:00:00 +0000 2019","id_str":"90","full_text":"the whole of it","user":{"id_str":"2","screen_name":"bo","name":"Bo"},"entities":{},"favorite_count":5}}
        """#
    static let events = #"""
        {"events":[{"type":"message_create","id":"954491830116155396","created_timestamp":"1516403560557","message_create":{"target":{"recipient_id":"43"},"sender_id":"30","message_data":{"text":"Hello &amp; &lt;you&gt;","entities":{}}}},
        {"type":"message_create","id":"954491830116155395","created_timestamp":"1516403560556","message_create":{"target":{"recipient_id":"30"},"sender_id":"7","message_data":{"text":"other","entities":{}}}},
        {"type":"message_create","id":"954491830116155394","created_timestamp":"1516403560555","message_create":{"target":{"recipient_id":"30"},"sender_id":"43","message_data":{"text":"first","entities":{}}}}],"next_cursor":"MTE0"}
        """#
    static let second = #"""
        {"data":[{"id":"1524796546306478083","text":"Today marks &amp; more https://t.co/a https://t.co/b","author_id":"2244994945","created_at":"2022-05-12T17:00:00.000Z","public_metrics":{"retweet_count":1,"reply_count":0,"like_count":3,"quote_count":0},"attachments":{"media_keys":["3_1"]},"entities":{"urls":[{"url":"https://t.co/a","expanded_url":"https://example.com/long"},{"url":"https://t.co/b","expanded_url":"https://x.com/photo/1","media_key":"3_1"}]},"referenced_tweets":[{"type":"replied_to","id":"15"}],"geo":{"place_id":"p"}},
        {"id":"100","text":"RT @bo: orig…","author_id":"2244994945","created_at":"2022-05-12T16:00:00.000Z","referenced_tweets":[{"type":"retweeted","id":"90"}]}],
         "includes":{"users":[{"id":"2244994945","name":"X Developers","username":"XDevelopers","profile_image_url":"https://pbs/x.jpg"},{"id":"2","name":"Bo","username":"bo"}],"media":[{"media_key":"3_1","type":"photo","url":"https://pbs/m.jpg","alt_text":"alt"}],"tweets":[{"id":"90","text":"original","author_id":"2"}],"places":[{"id":"p","full_name":"Berlin"}]},
         "errors":[{"resource_id":"456","title":"Not Found Error","type":"https://api.twitter.com/2/problems/resource-not-found"}],
         "meta":{"result_count":2,"next_token":"7140dibdnow9c7btw421"}}
        """#
}
