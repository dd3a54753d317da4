import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Facebook") struct FacebookTests {
    private let network = RecordedNetwork(hosts: ["f"])
    private let page = NetworkAccount.ann(id: "546", NetworkTokens(access: "ACCESS-TOKEN"))
    private var facebook: FacebookConnector { connector([:]) }
    private var personal: FacebookConnector { connector(["API": "personal"]) }

    private func connector(_ others: [String: String]) -> FacebookConnector {
        var parts = ConnectorParts(network, "https://f", secret: "app-secret")
        parts.key.others = others.merging(["VERIFY_TOKEN": "ours"]) { $1 }
        return FacebookConnector(parts, pause: noPause)
    }

    @Test("A page's feed is read and paged, without tokens in cursors")
    func pageFeed() async throws {
        let usage = [
            "x-business-use-case-usage":
                #"{"546":[{"type":"pages","call_count":95,"total_cputime":20,"total_time":20,"estimated_time_to_regain_access":19}]}"#
        ]
        network.answer(
            "GET https://f/v24.0/546/feed",
            200,
            FacebookShapes.feed(
                next: "https://f/v24.0/546/feed?access_token=SECRET&until=1624385168&__paging_token=abc&fields=x"
            ),
            usage
        )
        network.answer(
            "GET https://f/v24.0/546/feed",
            200,
            #"{"data":[],"paging":{"next":"https://evil/v24.0/546/feed?until=1"}}"#,
            ["x-app-usage": #"{"call_count":28,"total_time":25,"total_cputime":25}"#]
        )

        let first = try await facebook.feed(PageRequest(), as: page)
        let second = try await facebook.feed(PageRequest(cursor: first.next), as: page)

        let post = first.items[0].item
        #expect(post.id.native == "546349135390552_1116689038356556")
        #expect(post.text == "Hello fans")
        #expect(post.author?.name == "Acme")
        #expect(post.stats.likes == 2)
        #expect(post.location == ItemLocation(latitude: 37.72, longitude: -122.49, name: "Lake Merced"))
        #expect(
            post.media == [
                ItemMedia(
                    kind: .photo,
                    url: "https://scontent/p.jpg",
                    thumbnailUrl: "https://scontent/p.jpg",
                    width: 720,
                    height: 405
                )
            ]
        )
        #expect(post.createdAt == NetworkTime.date("2021-07-04T19:50:58Z"))
        #expect(
            first.budget
                == Budget(scope: .account, limit: 100, remaining: 5, resetAt: testNow.addingTimeInterval(1_140))
        )
        #expect(second.budget == Budget(scope: .application, limit: 100, remaining: 72))
        // A cursor contains no token, and a next page on another host is ignored.
        let kept = String(decoding: try JSONEncoder().encode(first.next), as: UTF8.self)
        #expect(!kept.contains("SECRET"))
        #expect(second.next == nil)
        let followed = try #require(network.last)
        #expect(followed.query("until") == "1624385168")
        #expect(followed.query("__paging_token") == "abc")
        #expect(followed.query("access_token") == nil)
        #expect(followed.header("authorization") == "Bearer ACCESS-TOKEN")
        #expect(followed.query("appsecret_proof") == "b83939c7bf13645e5fe9c5bc9e776d5ed986cfe28b7a2ab1b5a8aa24d456a1c7")
        #expect(followed.query("fields")?.hasPrefix("id,from,message") == true)
        let forged = try NetworkCursor(["next": "https://evil/steal"])
        #expect(await failure { try await facebook.feed(PageRequest(cursor: forged), as: page) }?.kind == .invalid)
        #expect(network.asked.count == 2)
    }

    @Test("The personal API of 2015 reads the feed, messages and notifications")
    func personalAPI() async throws {
        network.answer(
            "GET https://f/v2.3/me/home",
            200,
            #"{"data":[{"id":"212038_9","from":{"id":"333","name":"Alice"},"story":"Alice was here","type":"video","source":"https://v/1.mp4","picture":"https://p/1.jpg","created_time":"2015-11-02T10:00:00+0000","likes":{"data":[],"count":4}}]}"#
        )
        network.answer(
            "GET https://f/v2.3/me/inbox",
            200,
            #"{"data":[{"id":"1377","to":{"data":[{"id":"212038","name":"Ryan"},{"id":"333","name":"Alice"}]},"updated_time":"2015-11-02T10:00:00+0000","unread":1,"comments":{"data":[{"id":"1377_5","from":{"id":"333","name":"Alice"},"message":"hey","created_time":"2015-11-02T10:00:00+0000"}]}}]}"#
        )
        network.answer(
            "GET https://f/v2.3/1377/comments",
            200,
            #"{"data":[{"id":"1377_4","from":{"id":"212038","name":"Ryan"},"message":"yo","created_time":"2015-11-02T09:00:00+0000"},{"id":"1377_5","from":{"id":"333","name":"Alice"},"message":"hey","created_time":"2015-11-02T10:00:00+0000"}],"paging":{"next":"https://f/v2.3/1377/comments?until=9&__paging_token=x"}}"#
        )
        network.answer(
            "GET https://f/v2.3/me/notifications",
            200,
            #"{"data":[{"id":"notif_212038_987","from":{"id":"333","name":"Alice"},"created_time":"2015-11-02T10:00:00+0000","updated_time":"2015-11-02T10:00:00+0000","title":"Alice likes your photo.","link":"https://www.facebook.com/photo.php?fbid=222","application":{"name":"Likes"},"unread":1,"object":{"id":"222"}}]}"#
        )
        let ryan = NetworkAccount.ann(id: "212038")

        let home = try await personal.feed(PageRequest(), as: ryan).items.map(\.item)
        let threads = try await personal.threads(PageRequest(), as: ryan).items.map(\.item)
        let messages = try await personal.messages(of: "1377", PageRequest(), as: ryan)
        let notes = try await personal.notifications(PageRequest(), as: ryan).items.map(\.item)

        #expect(home[0].text == "Alice was here")
        #expect(home[0].media.map(\.kind) == [.video])
        #expect(home[0].stats.likes == 4)
        #expect(threads[0].text == "hey")
        #expect(threads[0].participants?.map(\.name) == ["Alice"])
        #expect(threads[0].unread == 1)
        #expect(messages.items.map(\.item.text) == ["hey", "yo"])
        #expect(messages.next != nil)
        #expect(notes[0].kind == .like)
        #expect(notes[0].text == "Alice likes your photo.")
        #expect(notes[0].about?.id.native == "222")
        #expect(await failure { try await facebook.notifications(PageRequest(), as: page) }?.kind == .unsupported)
    }

    @Test("Conversations of a page are read and replied to")
    func conversations() async throws {
        network.answer(
            "GET https://f/v24.0/546/conversations",
            200,
            #"{"data":[{"id":"t_58","updated_time":"2021-07-23T09:50:48+0000","snippet":"hello","unread_count":1,"participants":{"data":[{"id":"271","name":"Kun"},{"id":"546","name":"Acme"}]}}],"paging":{"cursors":{"before":"a","after":"b"}}}"#
        )
        network.answer(
            "GET https://f/v24.0/t_58/messages",
            200,
            #"{"data":[{"id":"m_ToF35","created_time":"2021-07-23T09:50:48+0000","from":{"name":"Kun","id":"271"},"message":"hello","attachments":{"data":[{"id":"651","mime_type":"image/jpeg","image_data":{"url":"https://s/x.jpg","width":1920,"height":1213,"preview_url":"https://s/p.jpg"}}]}}]}"#
        )
        network.answer(
            "GET https://f/v24.0/t_58",
            200,
            #"{"participants":{"data":[{"id":"546"},{"id":"271"}]},"id":"t_58"}"#
        )
        network.answer("POST https://f/v24.0/546/messages", 200, #"{"recipient_id":"271","message_id":"m_2"}"#)

        let threads = try await facebook.threads(PageRequest(), as: page).items.map(\.item)
        let messages = try await facebook.messages(of: "t_58", PageRequest(), as: page).items.map(\.item)
        let replied = try await facebook.reply(.saying("hi", in: "t_58"), as: page)

        #expect(threads[0].participants?.map(\.id) == ["271"])
        #expect(threads[0].text == "hello")
        #expect(
            messages[0].media == [
                ItemMedia(
                    kind: .photo,
                    url: "https://s/x.jpg",
                    thumbnailUrl: "https://s/p.jpg",
                    width: 1920,
                    height: 1213
                )
            ]
        )
        #expect(replied.id == "m_2")
        #expect(network.last?.json?["recipient"]?["id"]?.text == "271")
        #expect(network.last?.json?["messaging_type"]?.text == "RESPONSE")
    }

    @Test(
        "An error response has the class of its code",
        arguments: [
            (400, 190, 463, NetworkError.Class.auth),
            (400, 4, 0, .rateLimited(until: testNow.addingTimeInterval(3_600))),
            (403, 80_001, 0, .rateLimited(until: testNow.addingTimeInterval(3_600))), (403, 200, 0, .permission),
            (500, 2, 0, .transient), (400, 100, 0, .invalid), (400, 100, 33, .notFound), (400, 506, 0, .invalid),
            (400, 12, 0, .unsupported), (400, 10, 2_018_278, .permission), (400, 1, 1_363_047, .transient),
        ]
    )
    func errors(status: Int, code: Int, subcode: Int, kind: NetworkError.Class) async {
        let body =
            #"{"error":{"message":"so it is","type":"OAuthException","code":\#(code),"error_subcode":\#(subcode),"fbtrace_id":"A"}}"#
        network.answer("GET https://f/v24.0/546/feed", status, body)

        #expect(await failure { try await facebook.feed(PageRequest(), as: page) }?.kind == kind)
    }

    @Test("Posts with photos, videos and likes are published")
    func post() async throws {
        network.answer("GET https://f/v24.0/search", 200, #"{"data":[{"id":"113785468632283","name":"Lake Merced"}]}"#)
        network.answer("POST https://f/v24.0/546/photos", 200, #"{"id":"222"}"#)
        network.answer("POST https://f/v24.0/546/feed", 200, #"{"id":"546_111"}"#)
        network.answer(
            "GET https://f/v24.0/546/posts",
            200,
            #"{"data":[{"id":"546_111","message":"hi","created_time":"2099-01-01T00:00:00+0000"}]}"#
        )
        network.answer("POST https://f/v24.0/546/videos", 200, #"{"id":"333"}"#)
        network.answer("POST https://f/v24.0/546_9/likes", 200, #"{"success":true}"#)
        var post = NetworkPost.saying("hi", photos: [.photo])
        post.location = ItemLocation(latitude: 37.72, longitude: -122.49, name: "Lake Merced")

        let prepared = try await facebook.prepare(post, as: page)
        let posted = try await facebook.publish(post, prepared: prepared, as: page)

        #expect(posted.id == "546_111")
        #expect(network.asked[0].query("center") == "37.72,-122.49")
        #expect(network.asked[1].text.contains("name=\"published\"\r\n\r\nfalse"))
        #expect(network.asked[2].form("place") == "113785468632283")
        #expect(network.asked[2].form("attached_media[0]") == #"{"media_fbid":"222"}"#)
        #expect(try await facebook.find(post, prepared: prepared, as: page)?.id == "546_111")
        #expect(try await facebook.publish(.saying("film", video: .video), prepared: nil, as: page).id == "333")
        #expect(try await facebook.like("546_9", as: page).id == "546_9")
    }

    @Test("A location without text is published with the place's name as message")
    func locationAlone() async throws {
        network.answer("GET https://f/v24.0/search", 200, #"{"data":[{"id":"113785468632283","name":"Lake Merced"}]}"#)
        network.answer("POST https://f/v24.0/546/feed", 200, #"{"id":"546_111"}"#)
        network.answer(
            "GET https://f/v24.0/546/posts",
            200,
            #"{"data":[{"id":"546_111","message":"Lake Merced","created_time":"2099-01-01T00:00:00+0000"}]}"#
        )
        var post = NetworkPost.saying("")
        post.location = ItemLocation(latitude: 37.72, longitude: -122.49)

        let prepared = try await facebook.prepare(post, as: page)
        let posted = try await facebook.publish(post, prepared: prepared, as: page)

        #expect(posted.id == "546_111")
        #expect(network.asked[1].form("place") == "113785468632283")
        #expect(network.asked[1].form("message") == "Lake Merced")
        #expect(try await facebook.find(post, prepared: prepared, as: page)?.id == "546_111")
    }

    @Test("A video, which has no location field, has the place in its description")
    func videoWithLocation() async throws {
        network.answer("GET https://f/v24.0/search", 200, #"{"data":[{"id":"113785468632283","name":"Lake Merced"}]}"#)
        network.answer("POST https://f/v24.0/546/videos", 200, #"{"id":"333"}"#)
        var post = NetworkPost.saying("film", video: .video)
        post.location = ItemLocation(latitude: 37.72, longitude: -122.49, name: "The lake")

        let prepared = try await facebook.prepare(post, as: page)
        _ = try await facebook.publish(post, prepared: prepared, as: page)

        #expect(network.asked[1].text.contains("film\nThe lake"))
    }

    @Test(
        "A page is identified by its own id and name and by those of the user who signed in",
        arguments: [
            ("10001", true), ("ann", true), ("546", true), ("acme", true), ("10002", false), ("Other page", false),
        ]
    )
    func pageNames(given: String, isKnown: Bool) async throws {
        network.answer("GET https://f/v24.0/oauth/access_token", 200, #"{"access_token":"long"}"#)
        network.answer("GET https://f/v24.0/me", 200, #"{"id":"10001","name":"Ann"}"#)
        network.answer(
            "GET https://f/v24.0/me/accounts",
            200,
            #"{"data":[{"id":"546","name":"Acme","access_token":"pages-own"},{"id":"547","name":"Third"}]}"#
        )

        let identity = try await facebook.identify(.ann(id: given, NetworkTokens(access: "short")))

        #expect(identity.id == "546")
        #expect(identity.matches(given) == isKnown)
    }

    @Test("A user token is exchanged for the token of the page")
    func identify() async throws {
        network.answer(
            "GET https://f/v24.0/oauth/access_token",
            200,
            #"{"access_token":"long","token_type":"bearer","expires_in":5184000}"#
        )
        network.answer("GET https://f/v24.0/me", 200, #"{"id":"10001","name":"Ann"}"#)
        network.answer(
            "GET https://f/v24.0/me/accounts",
            200,
            #"{"data":[{"id":"545","name":"Other","access_token":"other"},{"id":"546","name":"Acme","access_token":"pages-own"}]}"#
        )

        let identity = try await facebook.identify(.ann(id: "546", NetworkTokens(access: "short")))

        #expect(identity.id == "546")
        #expect(identity.name == "Acme")
        #expect(identity.tokens == NetworkTokens(access: "pages-own"))
        #expect(network.asked[1].header("authorization") == "Bearer long")
        #expect(network.asked[0].query("fb_exchange_token") == "short")
    }

    /// The values of the documentation of webhooks, computed by another implementation.
    @Test("Webhook signatures and handshakes are checked")
    func webhookSignature() throws {
        let body = ByteBuffer(string: #"{"object":"page"}"#)
        let good = "sha256=ae958d6f00b134dd32b95a9a76bedaaeb068c0949769358355023f7d1a0c580b"
        #expect(
            try facebook.events(of: WebhookDelivery(headers: ["x-hub-signature-256": good], body: body)).events.isEmpty
        )
        let old = ["x-hub-signature": "sha1=9acef12412a8bbb8af07382d8be9d38fbacddd7f"]
        #expect(try facebook.events(of: WebhookDelivery(headers: old, body: body)).events.isEmpty)
        for headers in [
            ["x-hub-signature-256": good.uppercased()], [:], old.merging(["x-hub-signature-256": "sha256="]) { $1 },
        ] {
            let refused = #expect(throws: NetworkError.self) {
                try facebook.events(of: WebhookDelivery(headers: headers, body: body))
            }
            #expect(refused?.kind == .permission)
        }
        let query = ["hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": "ours"]
        #expect(try facebook.handshake(query).body == "1158201444")
        #expect(throws: NetworkError.self) {
            try facebook.handshake(query.merging(["hub.verify_token": "theirs"]) { $1 })
        }
    }

    @Test("Webhook deliveries of both API versions are read")
    func webhooks() throws {
        let body = #"""
            {"object":"page","entry":[{"id":"546","time":1668765446,"changes":[{"field":"feed","value":{"item":"comment","verb":"add","post_id":"546_111","comment_id":"111_9","created_time":1668765446,"from":{"id":"271","name":"Ann"},"message":"nice"}},{"field":"feed","value":{"item":"post","verb":"remove","post_id":"546_110","from":{"id":"546"}}}],"messaging":[{"sender":{"id":"271"},"recipient":{"id":"546"},"timestamp":1668765446000,"message":{"mid":"m_1","text":"psst"}}]},
            {"uid":"212038","id":"212038","time":1446458400,"changed_fields":["feed"]}]}
            """#
        let signature = "sha256=\(Signatures.sha256(Data(body.utf8), key: "app-secret"))"
        let delivery = try facebook.events(
            of: WebhookDelivery(headers: ["x-hub-signature-256": signature], body: ByteBuffer(string: body))
        )

        #expect(delivery.events.map(\.list) == [.messages, .notifications, .feed, .feed])
        #expect(
            delivery.events[2].change == .deleted("546_110")
                && delivery.events[3] == NetworkEvent(account: "212038", list: .feed, change: .ping)
        )
        guard case .created(let comment) = delivery.events[1].change,
            case .created(let message) = delivery.events[0].change
        else {
            throw NetworkError(.invalid, "not created")
        }
        #expect(comment.item.kind == .comment)
        #expect(comment.item.about?.id.native == "546_111")
        #expect(message.item.text == "psst")
        #expect(message.item.thread == "271")
        #expect(delivery.at == Date(timeIntervalSince1970: 1_668_765_446))
    }
}

enum FacebookShapes {
    static func feed(next: String) -> String {
        #"""
        {"data":[{"id":"546349135390552_1116689038356556","from":{"id":"546349135390552","name":"Acme"},"message":"Hello fans","created_time":"2021-07-04T19:50:58+0000","permalink_url":"https://www.facebook.com/546349135390552/posts/1116689038356556","place":{"id":"113785468632283","name":"Lake Merced","location":{"latitude":37.72,"longitude":-122.49}},"attachments":{"data":[{"type":"photo","media_type":"photo","media":{"image":{"src":"https://scontent/p.jpg","width":720,"height":405}},"target":{"id":"222"}}]},"likes":{"summary":{"total_count":2}}}],"paging":{"previous":"https://f/p","next":"\#(next)"}}
        """#
    }
}
