import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of the Data API in their recorded format.
@Suite("Reddit") struct RedditTests {
    private let network = RecordedNetwork(hosts: ["r", "store.amazonaws.com"])
    private var ann = NetworkAccount.ann(id: "t2_1")
    private var reddit: RedditConnector { RedditConnector(ConnectorParts(network, "https://r")) }

    @Test("Links are read and paged")
    func listing() async throws {
        let limits = ["x-ratelimit-used": "2", "x-ratelimit-remaining": "998.0", "x-ratelimit-reset": "597"]
        network.answer("GET https://r/new", 200, RedditShapes.listing(RedditShapes.link, after: "t3_48ezfg"), limits)
        network.answer("GET https://r/new", 200, RedditShapes.listing(RedditShapes.video, after: nil))

        let first = try await reddit.feed(PageRequest(limit: 1), as: ann)
        let second = try await reddit.feed(PageRequest(cursor: first.next), as: ann)

        let link = first.items[0].item
        #expect(link.id.native == "t3_48f0th")
        #expect(link.kind == .post)
        #expect(link.text == "Pokémon & more\n\nbody")
        #expect(link.author?.username == "Kevm4str")
        #expect(link.createdAt == Date(timeIntervalSince1970: 1_456_814_968))
        #expect(link.url == "https://www.reddit.com/r/Showerthoughts/comments/48f0th/x/")
        #expect(link.stats == ItemStats(likes: 1, comments: 3))
        #expect(link.liked == false)
        #expect(link.updatedAt == nil)
        #expect(
            first.budget
                == Budget(
                    scope: .account,
                    limit: 1_000,
                    remaining: 998,
                    resetAt: testNow.addingTimeInterval(597)
                )
        )
        let video = second.items[0].item
        #expect(
            video.media == [
                ItemMedia(
                    kind: .video,
                    url: "https://v.redd.it/x",
                    thumbnailUrl: "https://preview/x",
                    width: 640,
                    height: 480,
                    duration: 12
                )
            ]
        )
        #expect(video.author == nil)
        #expect(video.liked == true)
        #expect(video.updatedAt == Date(timeIntervalSince1970: 1_456_814_999))
        #expect(network.asked.map { $0.query("after") } == [nil, "t3_48ezfg"])
        #expect(second.next == nil)
        #expect(network.asked[1].query("count") == "1")
        #expect(network.asked[0].query("raw_json") == "1")
        #expect(network.asked[0].header("user-agent")?.contains("roost") == true)
    }

    @Test("A message with its replies is a thread")
    func thread() async throws {
        network.answer("GET https://r/message/messages", 200, RedditShapes.listing(RedditShapes.message, after: nil))
        for _ in 0..<2 {
            network.answer(
                "GET https://r/message/messages/2r1s1k2",
                200,
                RedditShapes.listing(RedditShapes.message, after: nil)
            )
        }

        let threads = try await reddit.threads(PageRequest(), as: ann).items.map(\.item)
        let first = try await reddit.messages(of: "t4_2r1s1k2", PageRequest(limit: 1), as: ann)
        let rest = try await reddit.messages(of: "t4_2r1s1k2", PageRequest(cursor: first.next, limit: 1), as: ann)

        let thread = try #require(threads.first)
        #expect(thread.id.native == "thread/t4_2r1s1k2")
        #expect(thread.thread == "t4_2r1s1k2")
        #expect(thread.text == "test message\n\nre")
        #expect(thread.unread == 1)
        #expect(thread.participants?.map(\.name) == ["Lil_SpazBot"])
        #expect(thread.createdAt == Date(timeIntervalSince1970: 1_747_841_900))
        #expect(first.items.map(\.item.text) == ["re"])
        #expect(rest.items.map(\.item.text) == ["hi"])
        #expect(rest.next == nil)
        #expect(first.items[0].item.author?.name == "ann")
        #expect(first.items[0].item.thread == "t4_2r1s1k2")
    }

    @Test("Notifications are replies and mentions, without private messages")
    func notifications() async throws {
        let comment =
            #"{"kind":"t1","data":{"name":"t1_c","author":"bo","body":"nice","type":"post_reply","was_comment":true,"parent_id":"t3_p","link_title":"mine","context":"/r/x/comments/p/c/?context=3","new":true,"created_utc":1747841818.0}}"#
        network.answer(
            "GET https://r/message/inbox",
            200,
            RedditShapes.listing("\(comment),\(RedditShapes.message)", after: "t1_c")
        )

        let page = try await reddit.notifications(PageRequest(), as: ann)

        let items = page.items.map(\.item)
        #expect(items.map(\.kind) == [.comment])
        #expect(page.next != nil)
        #expect(items[0].about?.id.native == "t3_p")
        #expect(items[0].unread == 1)
        #expect(items[0].url == "https://www.reddit.com/r/x/comments/p/c/?context=3")
        #expect(network.asked[0].query("mark") == "false")
    }

    @Test("Followed users are the subscribed profiles with a picture")
    func follows() async throws {
        let people = [
            ("user", "u_pianist", "https://styles.redditmedia.com/a?x=1&amp;y=2"), ("user", "u_gone", ""),
            ("public", "RedditSessions", "https://styles.redditmedia.com/b"), ("user", "other", "https://c"),
        ].map { #"{"kind":"t5","data":{"subreddit_type":"\#($0)","display_name":"\#($1)","icon_img":"\#($2)"}}"# }
        network.answer(
            "GET https://r/subreddits/mine/subscriber",
            200,
            RedditShapes.listing(people.joined(separator: ","), after: "t5_n")
        )

        let follows = try await reddit.follows(PageRequest(), as: ann)

        #expect(
            follows.people == [
                FollowsPage.Person(username: "pianist", iconUrl: "https://styles.redditmedia.com/a?x=1&y=2")
            ]
        )
        #expect(follows.next != nil)
    }

    @Test(
        "An error response has the class of its status",
        arguments: [
            (401, #"{"message":"Unauthorized","error":401}"#, NetworkError.Class.auth),
            (403, #"{"message":"Forbidden","error":403,"reason":"private"}"#, .permission),
            (503, "", .transient), (404, #"{"message":"Not Found","error":404}"#, .notFound),
            (429, "<!doctype html><html></html>", .rateLimited(until: testNow.addingTimeInterval(12))),
            (200, "<html>", .transient),
        ]
    )
    func errors(status: Int, body: String, kind: NetworkError.Class) async {
        let limits = ["x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "12", "x-ratelimit-used": "1000"]
        network.answer("GET https://r/new", status, body, limits)

        #expect(await failure { try await reddit.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test("Tokens are renewed, and a revoked grant and a wrong client are distinguished")
    func tokens() async throws {
        let place = "POST https://r/api/v1/access_token"
        network.answer(
            place,
            200,
            #"{"access_token":"new","token_type":"bearer","expires_in":86400,"refresh_token":"","scope":"read"}"#
        )
        network.answer(place, 200, #"{"error":"invalid_grant"}"#)
        network.answer(place, 400, #"{"message":"Bad Request","error":400}"#)
        network.answer(place, 401, #"{"message":"Unauthorized","error":401}"#)
        network.answer(place, 503)
        let account = NetworkAccount.ann(NetworkTokens(access: "old", refresh: "refresh"))

        let renewed = try await reddit.renew(account)
        var failures: [NetworkError.Class?] = []
        for _ in 0..<4 { failures.append(await failure { try await reddit.renew(account) }?.kind) }

        #expect(renewed == NetworkTokens(access: "new", expiresAt: testNow.addingTimeInterval(86_400)))
        #expect(network.asked[0].form("refresh_token") == "refresh")
        #expect(
            network.asked[0].header("authorization") == "Basic \(Data("app:app-secret".utf8).base64EncodedString())"
        )
        #expect(failures == [.auth, .auth, .permission, .transient])
    }

    @Test("A text is published with its first line as title, and errors are read")
    func post() async throws {
        network.answer(
            "POST https://r/api/submit",
            200,
            #"{"json":{"errors":[],"data":{"url":"https://www.reddit.com/x","id":"4bbe4b","name":"t3_4bbe4b"}}}"#
        )
        network.answer(
            "POST https://r/api/submit",
            200,
            #"{"json":{"ratelimit":554.1,"errors":[["RATELIMIT","you are doing that too much. try again in 9 minutes.","ratelimit"]]}}"#
        )
        network.answer(
            "POST https://r/api/submit",
            200,
            #"{"json":{"errors":[["TOO_LONG","this is too long (max: 300)","title"]]}}"#
        )
        let post = NetworkPost.saying("a title\n\nand more")

        let posted = try await reddit.publish(post, prepared: nil, as: ann)
        let fast = await failure(isWrite: true) { try await reddit.publish(post, prepared: nil, as: ann) }
        let long = await failure(isWrite: true) { try await reddit.publish(post, prepared: nil, as: ann) }

        #expect(posted.id == "t3_4bbe4b")
        let sentRequest = network.asked[0]
        #expect(sentRequest.form("sr") == "u_ann")
        #expect(sentRequest.form("title") == "a title")
        #expect(sentRequest.form("text") == "and more")
        #expect(fast?.kind == .rateLimited(until: testNow.addingTimeInterval(554.1)))
        #expect(fast?.code == "RATELIMIT")
        #expect(long?.kind == .invalid)
        #expect(long?.code == "TOO_LONG")
        let title = String(repeating: "x", count: 400)
        #expect(RedditConnector.titled(.saying(title)).title.count == 300)
        #expect(RedditConnector.titled(.saying(title)).body == title)
    }

    @Test("A photo is uploaded to the leased URL on an allowed host only")
    func photo() async throws {
        let lease =
            #"{"args":{"action":"//store.amazonaws.com","fields":[{"name":"key","value":"rte/x.jpg"},{"name":"policy","value":"p"}]},"asset":{"asset_id":"a"}}"#
        network.answer("POST https://r/api/media/asset.json", 200, lease)
        network.answer(
            "POST https://store.amazonaws.com",
            201,
            "<PostResponse><Location>https%3A%2F%2Fstore.amazonaws.com%2Frte/x.jpg</Location></PostResponse>"
        )
        network.answer("POST https://r/api/submit", 200, #"{"json":{"errors":[],"data":{"websocket_url":"wss://x"}}}"#)
        let post = NetworkPost.saying("look", photos: [.photo])

        let prepared = try await reddit.prepare(post, as: ann)
        let posted = try await reddit.publish(post, prepared: prepared, as: ann)

        #expect(posted.id == nil)
        #expect(network.asked[1].header("authorization") == nil)
        #expect(network.asked[2].form("url") == "https://store.amazonaws.com/rte/x.jpg")
        #expect(network.asked[2].form("kind") == "image")
        network.answer("POST https://r/api/media/asset.json", 200, lease.replacing("store.amazonaws", with: "evil"))
        #expect(await failure { try await reddit.prepare(post, as: ann) }?.kind == .transient)
        #expect(network.asked.count == 4)
    }

    @Test("A reply and a like are sent")
    func reply() async throws {
        network.answer(
            "GET https://r/message/messages/2r1s1k2",
            200,
            RedditShapes.listing(RedditShapes.message, after: nil)
        )
        network.answer(
            "POST https://r/api/comment",
            200,
            #"{"json":{"errors":[],"data":{"things":[{"kind":"t4","data":{"id":"9","name":"t4_9"}}]}}}"#
        )
        network.answer("POST https://r/api/vote", 200, "{}")

        #expect(try await reddit.reply(.saying("ok", in: "t4_2r1s1k2"), as: ann).id == "t4_9")
        #expect(network.last?.form("thing_id") == "t4_2r1s1k2")
        #expect(network.last?.form("text") == "ok")
        #expect(try await reddit.like("t3_48f0th", as: ann).id == "t3_48f0th")
        #expect(network.last?.form("dir") == "1")
    }
}

enum RedditShapes {
    static let link = #"""
        {"kind":"t3","data":{"id":"48f0th","name":"t3_48f0th","title":"Pokémon & more","author":"Kevm4str","author_fullname":"t2_1","subreddit":"Showerthoughts","created_utc":1456814968.0,"edited":false,"permalink":"/r/Showerthoughts/comments/48f0th/x/","url":"https://www.reddit.com/r/Showerthoughts/comments/48f0th/x/","is_self":true,"selftext":"body","thumbnail":"self","score":1,"ups":1,"likes":null,"num_comments":3.0,"media":null}}
        """#
    static let video = #"""
        {"kind":"t3","data":{"id":"v","name":"t3_v","title":"film","author":"[deleted]","created_utc":1456814960.0,"edited":1456814999.0,"permalink":"/r/x/comments/v/","url":"https://v.redd.it/x","is_self":false,"likes":true,"num_comments":0,"media":{"reddit_video":{"fallback_url":"https://v.redd.it/x","width":640,"height":480,"duration":12,"is_gif":false}},"preview":{"images":[{"source":{"url":"https://preview/x","width":640,"height":480}}]}}}
        """#
    static let message = #"""
        {"kind":"t4","data":{"id":"2r1s1k2","name":"t4_2r1s1k2","first_message":null,"first_message_name":null,"parent_id":null,"subject":"test message","body":"hi","author":"Lil_SpazBot","author_fullname":"t2_3eb","dest":"ann","new":true,"was_comment":false,"type":"unknown","created_utc":1747841818.0,"context":"","replies":{"kind":"Listing","data":{"after":null,"children":[{"kind":"t4","data":{"id":"2r1sada","name":"t4_2r1sada","first_message_name":"t4_2r1s1k2","body":"re","author":"ann","new":false,"created_utc":1747841900.0,"replies":""}}]}}}}
        """#

    static func listing(_ children: String, after: String?) -> String {
        #"{"kind":"Listing","data":{"after":\#(after.map { "\"\($0)\"" } ?? "null"),"before":null,"dist":1,"children":[\#(children)]}}"#
    }
}
