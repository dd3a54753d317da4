import Crypto
import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Twitter posts") struct TwitterPostingTests {
    private let network = RecordedNetwork()
    private let first = NetworkAccount.ann(id: "30", NetworkTokens(access: "tk", secret: "ts"))
    private let second = NetworkAccount.ann(id: "30", NetworkTokens(access: "bearer", refresh: "refresh"))
    private var twitter: TwitterConnector { TwitterTests.connector(network) }

    @Test("A post with a photo and a location is published by API 1.1")
    func post() async throws {
        network.answer("POST https://t/1.1/media/upload.json", 200, #"{"media_id":71,"media_id_string":"71","size":4}"#)
        network.answer("POST https://t/1.1/media/metadata/create.json", 400)
        network.answer("POST https://t/1.1/statuses/update.json", 200, #"{"id_str":"99","text":"hi"}"#)
        var post = NetworkPost.saying("hi", photos: [.photo])
        post.location = ItemLocation(latitude: 37.5, longitude: -122.25)

        let prepared = try await twitter.prepare(post, as: first)
        let posted = try await twitter.publish(post, prepared: prepared, as: first)

        #expect(posted == PublishedPost(id: "99", url: "https://x.com/ann/status/99"))
        let sentRequest = try #require(network.last)
        #expect(sentRequest.form("status") == "hi")
        #expect(sentRequest.form("media_ids") == "71")
        #expect(sentRequest.form("lat") == "37.5")
        #expect(sentRequest.form("long") == "-122.25")
        #expect(network.asked.allSatisfy { $0.header("authorization")?.hasPrefix("OAuth ") == true })
    }

    @Test("A video is uploaded in chunks and its processing awaited")
    func video() async throws {
        for url in ["https://t/1.1/media/upload.json"] {
            network.answer("POST \(url)", 202, #"{"media_id_string":"72"}"#)
            network.answer("POST \(url)", 204, "")
            network.answer("POST \(url)", 204, "")
            network.answer(
                "POST \(url)",
                201,
                #"{"media_id_string":"72","processing_info":{"state":"pending","check_after_secs":1}}"#
            )
            network.answer(
                "GET \(url)",
                200,
                #"{"media_id_string":"72","processing_info":{"state":"in_progress","check_after_secs":1}}"#
            )
            network.answer("GET \(url)", 200, #"{"media_id_string":"72","processing_info":{"state":"succeeded"}}"#)
        }
        var film = OutgoingMedia.video
        film.bytes = ByteBuffer(repeating: 1, count: 4_194_305)

        let prepared = try await twitter.prepare(.saying("", video: film), as: first)

        #expect((prepared?.value["media"]).list == [.string("72")])
        #expect(network.asked[0].form("command") == "INIT" && network.asked[0].form("total_bytes") == "4194305")
        #expect(network.asked[1].text.contains("name=\"segment_index\"\r\n\r\n0\r\n"))
        #expect(network.asked[2].text.contains("name=\"segment_index\"\r\n\r\n1\r\n"))
        #expect(network.asked[3].form("command") == "FINALIZE" && network.asked[4].query("command") == "STATUS")
    }

    @Test("API 2 publishes, likes and replies, but has no locations")
    func v2() async throws {
        network.answer("POST https://t/2/media/upload", 200, #"{"data":{"id":"73","media_key":"3_73"}}"#)
        network.answer("POST https://t/2/media/metadata", 200)
        network.answer("POST https://t/2/tweets", 201, #"{"data":{"id":"1456012973835788293","text":"hi"}}"#)
        network.answer("POST https://t/2/users/30/likes", 200, #"{"data":{"liked":true}}"#)
        network.answer(
            "POST https://t/2/dm_conversations/7-30/messages",
            201,
            #"{"data":{"dm_conversation_id":"7-30","dm_event_id":"5"}}"#
        )
        let post = NetworkPost.saying("hi", photos: [.photo])

        let prepared = try await twitter.prepare(post, as: second)
        #expect(try await twitter.publish(post, prepared: prepared, as: second).id == "1456012973835788293")
        #expect((network.last?.json?["media"]?["media_ids"]).list == [.string("73")])
        #expect(try await twitter.like("15", as: second).id == "15")
        #expect(network.last?.json?["tweet_id"]?.text == "15")
        #expect(try await twitter.reply(.saying("ok", in: "7-30"), as: second).id == "message/5")
        #expect(!twitter.accountCapabilities(of: second).supported.contains(.location))
        #expect(twitter.accountCapabilities(of: first).supported.contains(.location))
    }

    @Test("Without an account, the capabilities are those of the API version that accounts are linked with")
    func capabilitiesWithoutAccount() {
        let none = NetworkAccount.ann(id: nil, NetworkTokens(access: ""))
        #expect(!twitter.accountCapabilities(of: none).supported.contains(.location))
        #expect(
            TwitterTests.connector(network, ["API": "1.1"]).accountCapabilities(of: none).supported.contains(.location)
        )
        #expect(
            !TwitterTests.connector(network, ["API": "2"]).accountCapabilities(of: first).supported.contains(.location)
        )
    }

    @Test("A post that exceeds a limit is rejected without a request")
    func limits() async {
        var gif = OutgoingMedia.photo
        gif.type = "image/gif"
        let cases: [(NetworkPost, String)] = [
            (.saying(String(repeating: "字", count: 141)), "text_too_long"),
            (.saying("", photos: [gif, .photo]), "mixed_media"),
            (.saying("", photos: [.photo], video: .video), "mixed_media"),
            (.saying("", photos: Array(repeating: .photo, count: 5)), "too_many_photos"),
        ]
        for (post, code) in cases {
            #expect(await failure { try await twitter.prepare(post, as: first) }?.code == code)
            #expect(await failure { try await twitter.publish(post, prepared: nil, as: first) }?.code == code)
        }
        #expect(network.asked.isEmpty)
    }

    @Test("A location without text is published with the place's name")
    func locationAlone() async throws {
        network.answer("POST https://t/1.1/statuses/update.json", 200, #"{"id_str":"99"}"#)
        var post = NetworkPost.saying("")
        post.location = ItemLocation(latitude: 1, longitude: 2, name: "Lake Merced")

        _ = try await twitter.publish(post, prepared: nil, as: first)

        #expect(network.last?.form("status") == "Lake Merced")
        #expect(network.last?.form("lat") == "1.0")
    }

    @Test("A post with unknown outcome is found in the timeline by its text")
    func find() async throws {
        network.answer("POST https://t/1.1/statuses/update.json", 502, "<html></html>")
        network.answer(
            "GET https://t/1.1/statuses/user_timeline.json",
            200,
            #"[{"created_at":"Wed Nov 18 13:00:00 +0000 2099","id_str":"5","full_text":"a &amp; b https://t.co/x","entities":{"urls":[{"url":"https://t.co/x","expanded_url":"https://example.com"}]},"user":{"id_str":"30","screen_name":"ann"}}]"#
        )
        network.answer("GET https://t/1.1/statuses/user_timeline.json", 200, "[]")
        let post = NetworkPost.saying("a & b  https://example.com")

        #expect(
            await failure(isWrite: true) { try await twitter.publish(post, prepared: nil, as: first) }?.kind
                == .unknownOutcome
        )
        #expect(try await twitter.find(post, prepared: nil, as: first)?.id == "5")
        #expect(try await twitter.find(post, prepared: nil, as: first) == nil)
    }

    @Test("A reply and a repeated like succeed")
    func reply() async throws {
        network.answer(
            "POST https://t/1.1/direct_messages/events/new.json",
            200,
            #"{"event":{"type":"message_create","id":"12"}}"#
        )
        network.answer(
            "POST https://t/1.1/favorites/create.json",
            403,
            #"{"errors":[{"code":139,"message":"You have already favorited this status."}]}"#
        )

        #expect(try await twitter.reply(.saying("ok", in: "30-43"), as: first).id == "message/12")
        #expect(network.last?.json?["event"]?["message_create"]?["target"]?["recipient_id"]?.text == "43")
        #expect(try await twitter.like("15", as: first).id == "15")
    }

    @Test("OAuth 1.0a and OAuth 2.0 link an account and renew its tokens")
    func oauth() async throws {
        let old = TwitterTests.connector(network, ["API": "1.1"])
        network.answer(
            "POST https://t/oauth/request_token",
            200,
            "oauth_token=rt&oauth_token_secret=rs&oauth_callback_confirmed=true"
        )
        network.answer(
            "POST https://t/oauth/access_token",
            200,
            "oauth_token=at&oauth_token_secret=as&user_id=30&screen_name=ann"
        )
        network.answer(
            "POST https://t/2/oauth2/token",
            200,
            #"{"token_type":"bearer","expires_in":7200,"access_token":"a2","scope":"x","refresh_token":"r2"}"#
        )
        network.answer(
            "POST https://t/2/oauth2/token",
            400,
            #"{"error":"invalid_request","error_description":"Value passed for the token was invalid."}"#
        )
        let request = AuthorizationRequest(callback: "https://roost/cb", state: "s", verifier: "v")

        let authorization = try await old.authorize(request)
        let linked = try await old.complete(
            ["oauth_token": "rt", "oauth_verifier": "ov"],
            of: authorization,
            for: request
        )
        let forged = await failure {
            try await old.complete(["oauth_token": "other", "oauth_verifier": "ov"], of: authorization, for: request)
        }
        let page = try await twitter.authorize(request)
        let second = try await twitter.complete(["code": "c"], of: page, for: request)
        let over = await failure { try await twitter.renew(.ann(second.tokens)) }

        #expect(authorization.url == "https://t/oauth/authorize?oauth_token=rt")
        #expect(
            network.asked[0].header("authorization")?.contains(
                "oauth_callback=\"https%3A%2F%2Froost%2Fcb%3Fstate%3Ds\""
            ) == true
        )
        #expect(network.asked[1].header("authorization")?.contains("oauth_verifier=\"ov\"") == true)
        #expect(linked.tokens == NetworkTokens(access: "at", secret: "as"))
        #expect(linked.id == "30")
        #expect(linked.username == "ann")
        #expect(forged?.kind == .permission)
        #expect(page.url.hasPrefix("https://t/i/oauth2/authorize?response_type=code&client_id=ck"))
        #expect(second.tokens.expiresAt == Date(timeIntervalSince1970: 1_700_007_200))
        #expect(second.tokens.refresh == "r2")
        #expect(over?.kind == .auth)
    }

    @Test("Signed webhook deliveries are read")
    func webhooks() throws {
        func delivery(_ body: String) -> WebhookDelivery {
            let code = HMAC<SHA256>.authenticationCode(for: Data(body.utf8), using: SymmetricKey(data: Data("cs".utf8)))
            let signature = "sha256=\(Data(code).base64EncodedString())"
            return WebhookDelivery(headers: ["x-twitter-webhooks-signature": signature], body: ByteBuffer(string: body))
        }
        let activity = try twitter.events(
            of: delivery(
                """
                {"for_user_id":"30","tweet_create_events":[\(TwitterShapes.tweet)],"tweet_delete_events":[{"status":{"id":"7","user_id":"30"}}],
                "favorite_events":[{"id":"a7ba","timestamp_ms":1522082006140,"favorited_status":{"id_str":"8","text":"mine"},"user":{"id_str":"2","screen_name":"bo"}}],
                "direct_message_events":[{"type":"message_create","id":"9","created_timestamp":"1516403560557","message_create":{"target":{"recipient_id":"30"},"sender_id":"43","message_data":{"text":"psst"}}}]}
                """
            )
        )
        #expect(activity.events.map(\.list) == [.notifications, .feed, .messages, .notifications])
        #expect(
            activity.events[1].change == .deleted("7") && activity.at == Date(timeIntervalSince1970: 1_522_082_006.14)
        )
        guard case .created(let like) = activity.events[3].change else { throw NetworkError(.invalid, "not a like") }
        #expect(like.item.kind == .like)
        #expect(like.item.about?.id.native == "8")

        let mention = try twitter.events(
            of: delivery(
                #"""
                {"data":{"event_uuid":"2080761390344937796","filter":{"user_id":"30"},"event_type":"post.mention.create","payload":{"id":"2080761390344937796","text":"@me hi","author_id":"222","created_at":"2026-07-24T21:05:48.000Z"},"includes":{"users":[{"id":"222","username":"alice"}]}}}
                """#
            )
        )
        guard case .created(let item) = mention.events.first?.change else {
            throw NetworkError(.invalid, "not a mention")
        }
        #expect(item.item.kind == .mention)
        #expect(item.item.author?.username == "alice")
        #expect(mention.id == "2080761390344937796" && mention.events[0].account == "30")
    }
}
