import Foundation
import NIOCore
import OAuth1
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Instagram") struct InstagramTests {
    private let network = RecordedNetwork(hosts: ["i"])
    private let ann = NetworkAccount.ann(id: "178", NetworkTokens(access: "t", expiresAt: .distantFuture))
    private var instagram: InstagramConnector { connector([:]) }
    private var first: InstagramConnector { connector(["API": "v1"]) }

    private func connector(_ others: [String: String]) -> InstagramConnector {
        var parts = ConnectorParts(network, "https://i", secret: "app-secret")
        parts.key.others = others
        return InstagramConnector(parts, pause: noPause)
    }

    @Test("The user's media are read and paged")
    func feed() async throws {
        network.answer(
            "GET https://i/v24.0/me/media",
            200,
            #"{"data":[{"id":"17895731045244887","caption":"hi","media_type":"CAROUSEL_ALBUM","permalink":"https://www.instagram.com/p/C/","timestamp":"2021-08-13T08:25:28+0000","username":"acme","like_count":2,"comments_count":6,"children":{"data":[{"media_url":"https://s/1.jpg","media_type":"IMAGE"},{"media_url":"https://s/2.mp4","media_type":"VIDEO","thumbnail_url":"https://s/2.jpg"}]}}],"paging":{"cursors":{"after":"QVFI2"},"next":"https://i/v24.0/me/media?after=QVFI2&access_token=SECRET"}}"#
        )
        network.answer("GET https://i/v24.0/me/media", 200, #"{"data":[]}"#)

        let page = try await instagram.feed(PageRequest(), as: ann)
        let end = try await instagram.feed(PageRequest(cursor: page.next), as: ann)

        let post = page.items[0].item
        #expect(post.text == "hi")
        #expect(post.author?.username == "acme")
        #expect(post.stats == ItemStats(likes: 2, comments: 6))
        #expect(
            post.media == [
                ItemMedia(kind: .photo, url: "https://s/1.jpg"),
                ItemMedia(kind: .video, url: "https://s/2.mp4", thumbnailUrl: "https://s/2.jpg"),
            ]
        )
        #expect(network.last?.query("after") == "QVFI2")
        #expect(network.last?.query("access_token") == nil)
        #expect(end.next == nil)
    }

    @Test("The feed of API v1 is read and paged with a signature")
    func v1Feed() async throws {
        network.answer(
            "GET https://i/v1/users/self/feed",
            200,
            InstagramShapes.feed,
            ["X-Ratelimit-Limit": "5000", "X-Ratelimit-Remaining": "4999"]
        )
        network.answer("GET https://i/v1/users/self/feed", 200, #"{"meta":{"code":200},"data":[],"pagination":{}}"#)

        let page = try await first.feed(PageRequest(limit: 20), as: ann)
        let end = try await first.feed(PageRequest(cursor: page.next), as: ann)

        let post = page.items[0].item
        #expect(post.id.native == "471425689728724453_404174490")
        #expect(post.text == "#snowy")
        #expect(post.author?.name == "Iri")
        #expect(post.location == ItemLocation(latitude: 37.3, longitude: -122.5, name: "Le Truc"))
        #expect(
            post.media == [
                ItemMedia(kind: .photo, url: "http://s/7.jpg", thumbnailUrl: "http://s/5.jpg", width: 612, height: 612)
            ]
        )
        #expect(post.createdAt == Date(timeIntervalSince1970: 1_370_418_343))
        #expect(post.stats.likes == 1)
        #expect(page.budget == Budget(scope: .account, limit: 5_000, remaining: 4_999))
        #expect(network.last?.query("max_id") == "471425689728724453_404174490")
        #expect(end.next == nil)
        #expect(
            network.asked[0].query("sig")
                == InstagramConnector.signature(
                    "/users/self/feed",
                    [FormField("count", "20"), FormField("access_token", "t")],
                    secret: "app-secret"
                )
        )
    }

    @Test("The request signature equals the documented one")
    func signature() {
        #expect(
            InstagramConnector.signature(
                "/users/self",
                [FormField("access_token", "fb2e77d.47a0479900504cb3ab4a1f626d174d2d")],
                secret: "6dc1787668c64c939929c17683d7cb74"
            ) == "cbf5a1f41db44412506cb6563a3218b50f45a710c7a8a65a3e9b18315bb338bf"
        )
    }

    @Test("Comments and likes of recent media are the notifications of API v1")
    func v1Notifications() async throws {
        network.answer("GET https://i/v1/users/178/media/recent", 200, InstagramShapes.feed)

        let items = try await first.notifications(PageRequest(), as: ann).items.map(\.item)

        #expect(items.map(\.kind) == [.comment, .like])
        #expect(items[0].text == "nice")
        #expect(items[0].author?.username == "bo")
        #expect(items.allSatisfy { $0.about?.id.native == "471425689728724453_404174490" })
    }

    @Test(
        "An error response of API v1 has the class of its type",
        arguments: [
            (400, "OAuthAccessTokenException", NetworkError.Class.auth),
            (403, "OAuthPermissionsException", .permission),
            (429, "OAuthRateLimitException", .rateLimited(until: testNow.addingTimeInterval(900))),
            (400, "APINotFoundError", .notFound), (400, "SomethingNew", .invalid),
        ]
    )
    func v1Errors(status: Int, type: String, kind: NetworkError.Class) async {
        network.answer(
            "GET https://i/v1/users/self/feed",
            status,
            #"{"meta":{"error_type":"\#(type)","code":\#(status),"error_message":"so it is"}}"#
        )

        #expect(await failure { try await first.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test("A photo is published when its container is finished")
    func photo() async throws {
        network.answer("POST https://i/v24.0/178/media", 200, #"{"id":"17889455560051444"}"#)
        network.answer("GET https://i/v24.0/17889455560051444", 200, #"{"status_code":"IN_PROGRESS"}"#)
        network.answer("GET https://i/v24.0/17889455560051444", 200, #"{"status_code":"FINISHED"}"#)
        network.answer("POST https://i/v24.0/178/media_publish", 200, #"{"id":"17920238422030506"}"#)
        network.answer("GET https://i/v24.0/17889455560051444", 200, #"{"status_code":"FINISHED"}"#)
        var photo = OutgoingMedia.photo
        photo.url = "https://roost/media/x"
        let post = NetworkPost.saying("hi", photos: [photo])

        let prepared = try await instagram.prepare(post, as: ann)
        let posted = try await instagram.publish(post, prepared: prepared, as: ann)

        #expect(posted.id == "17920238422030506")
        #expect(network.asked[0].form("image_url") == "https://roost/media/x")
        #expect(network.asked[0].form("caption") == "hi")
        #expect(network.asked[3].form("creation_id") == "17889455560051444")
        // The container is finished but not published, so the post does not exist.
        #expect(try await instagram.find(post, prepared: prepared, as: ann) == nil)
    }

    @Test("A video that is still processed keeps its container and is published later")
    func slowVideo() async throws {
        network.answer("POST https://i/v24.0/178/media", 200, #"{"id":"17889455560051444"}"#)
        for _ in 0..<5 {
            network.answer("GET https://i/v24.0/17889455560051444", 200, #"{"status_code":"IN_PROGRESS"}"#)
        }
        network.answer("GET https://i/v24.0/17889455560051444", 200, #"{"status_code":"FINISHED"}"#)
        network.answer("POST https://i/v24.0/178/media_publish", 200, #"{"id":"17920238422030506"}"#)
        var video = OutgoingMedia.video
        video.url = "https://roost/feed/media/x"
        let post = NetworkPost.saying("hi", video: video)

        let prepared = try await instagram.prepare(post, as: ann)
        let early = await failure(isWrite: true) {
            try await instagram.publish(post, prepared: prepared, as: ann)
        }
        let posted = try await instagram.publish(post, prepared: prepared, as: ann)

        #expect(early?.kind == .transient)
        #expect(early?.code == "media_processing")
        #expect(posted.id == "17920238422030506")
        #expect(network.asked.filter { $0.form("video_url") != nil }.count == 1)
    }

    @Test("A post that exceeds a limit is rejected without a request")
    func limits() async {
        var tall = OutgoingMedia.photo
        tall.url = "https://roost/media/x"
        (tall.width, tall.height) = (100, 200)
        var png = OutgoingMedia.photo
        png.type = "image/png"
        let cases: [(NetworkPost, String)] = [
            (.saying("text"), "media_missing"), (.saying("", photos: [png]), "photo_type"),
            (.saying("", photos: [tall]), "photo_aspect"), (.saying("", photos: [.photo]), "media_unreachable"),
        ]
        for (post, code) in cases {
            #expect(await failure { try await instagram.prepare(post, as: ann) }?.code == code)
        }
        #expect(await failure { try await first.prepare(.saying("", photos: [.photo]), as: ann) }?.kind == .unsupported)
        #expect(network.asked.isEmpty)
    }

    @Test("Conversations are read and replied to")
    func conversations() async throws {
        network.answer(
            "GET https://i/v24.0/me/conversations",
            200,
            #"{"data":[{"id":"aWdf","updated_time":"2021-08-13T08:25:28+0000","participants":{"data":[{"id":"178","username":"acme"},{"id":"9","username":"bo"}]},"messages":{"data":[{"id":"m1","created_time":"2021-08-13T08:25:28+0000","from":{"id":"9","username":"bo"},"message":"hey"}]}}]}"#
        )
        network.answer(
            "GET https://i/v24.0/aWdf/messages",
            200,
            #"{"data":[{"id":"m1","created_time":"2021-08-13T08:25:28+0000","from":{"id":"9","username":"bo"},"message":"hey"}]}"#
        )
        network.answer("GET https://i/v24.0/aWdf", 200, #"{"participants":{"data":[{"id":"178"},{"id":"9"}]}}"#)
        network.answer("POST https://i/v24.0/me/messages", 200, #"{"recipient_id":"9","message_id":"m2"}"#)

        let threads = try await instagram.threads(PageRequest(), as: ann).items.map(\.item)
        let messages = try await instagram.messages(of: "aWdf", PageRequest(), as: ann).items.map(\.item)

        #expect(threads[0].text == "hey")
        #expect(threads[0].participants?.map(\.username) == ["bo"])
        #expect(messages[0].author?.username == "bo")
        #expect(messages[0].thread == "aWdf")
        #expect(try await instagram.reply(.saying("ok", in: "aWdf"), as: ann).id == "m2")
        #expect(network.last?.json?["recipient"]?["id"]?.text == "9")
    }

    @Test("A code is exchanged for a long-lived token, which is renewed")
    func tokens() async throws {
        network.answer(
            "POST https://i/oauth/access_token",
            200,
            #"{"access_token":"short","user_id":178,"permissions":"x"}"#
        )
        network.answer(
            "GET https://i/access_token",
            200,
            #"{"access_token":"long","token_type":"bearer","expires_in":5183944}"#
        )
        network.answer("GET https://i/v24.0/me", 200, #"{"user_id":"178","username":"acme","id":"9"}"#)
        network.answer(
            "GET https://i/refresh_access_token",
            200,
            #"{"access_token":"longer","token_type":"bearer","expires_in":5183944}"#
        )
        network.answer(
            "GET https://i/refresh_access_token",
            400,
            #"{"error":{"message":"expired","type":"OAuthException","code":190}}"#
        )
        let request = AuthorizationRequest(callback: "https://roost/cb", state: "s", verifier: "v")

        let linked = try await instagram.complete(["code": "abc#_"], of: Authorization(url: ""), for: request)
        let identity = try await instagram.identify(.ann(id: nil, linked.tokens))
        let tokens = try #require(identity.tokens)
        let renewed = try await instagram.renew(.ann(tokens))
        let over = await failure { try await instagram.renew(.ann(tokens)) }

        #expect(network.asked[0].form("code") == "abc")
        #expect(linked.id == "178")
        #expect(network.asked[1].query("access_token") == "short" && network.asked[3].query("access_token") == "long")
        #expect(identity.id == "178")
        #expect(tokens.access == "long")
        #expect(tokens.expiresAt == testNow.addingTimeInterval(5_183_944))
        #expect(renewed.access == "longer")
        #expect(over?.kind == .auth)
    }

    @Test("Signed webhook deliveries of both API versions are read")
    func webhooks() throws {
        func events(_ body: String, _ name: String, _ signature: String) throws -> [NetworkEvent] {
            try instagram.events(of: WebhookDelivery(headers: [name: signature], body: ByteBuffer(string: body))).events
        }
        let today =
            #"{"object":"instagram","entry":[{"id":"178","time":1713456789,"messaging":[{"sender":{"id":"9"},"recipient":{"id":"178"},"timestamp":1713456789000,"message":{"mid":"aGVs","text":"Hi"}}]},{"id":"178","time":1713456790,"changes":[{"field":"comments","value":{"id":"17","from":{"id":"9","username":"ann"},"text":"nice","media":{"id":"179"}}}]}]}"#
        let old =
            #"[{"changed_aspect":"media","object":"user","object_id":"1234","time":1297286541,"subscription_id":4,"data":{"media_id":"5"}}]"#

        let messages = try events(
            today,
            "x-hub-signature-256",
            "sha256=\(Signatures.sha256(Data(today.utf8), key: "app-secret"))"
        )
        let pings = try events(old, "x-hub-signature", Signatures.sha1(Data(old.utf8), key: "app-secret"))

        #expect(messages.map(\.list) == [.messages, .notifications])
        #expect(pings == [NetworkEvent(account: "1234", list: .feed, change: .ping)])
        #expect(throws: NetworkError.self) { try events(old, "x-hub-signature", "") }
    }
}

enum InstagramShapes {
    static let feed = #"""
        {"meta":{"code":200},"data":[{"id":"471425689728724453_404174490","type":"image","created_time":"1370418343","link":"http://instagram.com/p/aK1yrGRi3l/","user_has_liked":false,"location":{"id":520640,"name":"Le Truc","latitude":37.3,"longitude":-122.5},"user":{"id":"404174490","username":"iri92lol","full_name":"Iri","profile_picture":"http://p"},"caption":{"id":"1","text":"#snowy","created_time":"1370418353"},"images":{"thumbnail":{"url":"http://s/5.jpg","width":150,"height":150},"standard_resolution":{"url":"http://s/7.jpg","width":612,"height":612}},"likes":{"count":1,"data":[{"id":"1","username":"a","full_name":"A"}]},"comments":{"count":1,"data":[{"id":"66","created_time":"1370418400","text":"nice","from":{"id":"2","username":"bo"}}]}}],
        "pagination":{"next_url":"https://api.instagram.com/v1/users/self/feed?access_token=x&max_id=471425689728724453_404174490"}}
        """#
}
