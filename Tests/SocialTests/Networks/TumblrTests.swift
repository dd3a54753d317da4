import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Tumblr") struct TumblrTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(NetworkTokens(access: "tk", secret: "ts"), details: ["blog": "ann"])
    private var tumblr: TumblrConnector {
        TumblrConnector(ConnectorParts(network, "https://t", id: "ck", secret: "cs"))
    }

    @Test("The dashboard is read and paged, without items repeated by new posts")
    func dashboard() async throws {
        let limits = [
            "x-ratelimit-perhour-limit": "1000", "x-ratelimit-perhour-remaining": "900",
            "x-ratelimit-perhour-reset": "60",
            "x-ratelimit-perday-limit": "5000", "x-ratelimit-perday-remaining": "12",
            "x-ratelimit-perday-reset": "7200",
        ]
        network.answer(
            "GET https://t/v2/user/dashboard",
            200,
            TumblrShapes.posts([TumblrShapes.blocks, TumblrShapes.reblog]),
            limits
        )
        // Another post was added meanwhile, which shifts all offsets by one.
        network.answer(
            "GET https://t/v2/user/dashboard",
            200,
            TumblrShapes.posts([TumblrShapes.reblog, TumblrShapes.legacy])
        )
        network.answer("GET https://t/v2/user/dashboard", 200, TumblrShapes.posts([]))

        let first = try await tumblr.feed(PageRequest(limit: 2, includesRaw: true), as: ann)
        let second = try await tumblr.feed(PageRequest(cursor: first.next, limit: 2), as: ann)
        let end = try await tumblr.feed(PageRequest(cursor: second.next), as: ann)

        let post = first.items[0].item
        #expect(post.id.native == "staff/6828225215")
        #expect(post.kind == .post)
        #expect(post.text == "Hello\n\nthere")
        #expect(
            post.author
                == ItemAuthor(
                    id: "t:0a",
                    name: "Tumblr Staff",
                    username: "staff",
                    avatarUrl: "https://64/a.png",
                    url: "https://staff.tumblr.com/"
                )
        )
        #expect(
            post.media == [
                ItemMedia(kind: .photo, url: "https://64/x.jpg", width: 540, height: 405, alt: "a cat"),
                ItemMedia(kind: .video, url: "https://va/v.mp4", width: 640, height: 640),
            ]
        )
        #expect(post.createdAt == Date(timeIntervalSince1970: 1_298_665_620))
        #expect(post.liked == false)
        let reblog = first.items[1]
        #expect(reblog.item.kind == .repost)
        #expect(reblog.original == "tumblr:bo/77")
        #expect(reblog.item.text == "root")
        #expect(reblog.item.about?.author?.username == "bo")
        #expect(second.items.map(\.item.id.native) == ["old/6828225000"])
        #expect(second.items[0].item.text == "a caption")
        #expect(second.items[0].item.media.map(\.url) == ["https://64/p.jpg"])
        #expect(network.asked.map { $0.query("offset") } == [nil, "2", "4"])
        #expect(end.next == nil)
        #expect(
            first.budget
                == Budget(scope: .application, limit: 5_000, remaining: 12, resetAt: testNow.addingTimeInterval(7_200))
        )
        #expect(network.asked[0].header("authorization")?.hasPrefix("OAuth oauth_consumer_key=\"ck\"") == true)
    }

    @Test("Notifications have the kind of their type")
    func notifications() async throws {
        network.answer(
            "GET https://t/v2/blog/ann/notifications",
            200,
            #"""
            {"meta":{"status":200,"msg":"OK"},"response":{"notifications":[{"id":"1","type":"like","timestamp":1700000000,"unread":true,"target_post_id":"6828225215","target_post_summary":"hi","from_tumblelog_name":"bo","from_tumblelog_uuid":"t:x"},{"type":"reply","timestamp":1699999999,"target_post_id":"5","from_tumblelog_name":"bo","reply_text":"nice"},{"id":"3","type":"what_you_missed","timestamp":1699999998}],"_links":{"next":{"type":"action","href":"/v2/blog/ann/notifications","query_params":{"before":"1699999998"}}}}}
            """#
        )
        network.answer(
            "GET https://t/v2/blog/ann/notifications",
            200,
            #"{"meta":{"status":200},"response":{"notifications":[]}}"#
        )

        let page = try await tumblr.notifications(PageRequest(), as: ann)
        let end = try await tumblr.notifications(PageRequest(cursor: page.next), as: ann)

        #expect(page.items.map(\.item.kind) == [.like, .comment, .other])
        #expect(page.items[0].item.about?.id.native == "ann/6828225215")
        #expect(page.items[0].item.unread == 1)
        #expect(page.items[1].item.text == "nice")
        #expect(page.items[1].item.id.native == "activity/reply-bo-5-1699999999")
        #expect(network.last?.query("before") == "1699999998")
        #expect(end.next == nil)
    }

    @Test(
        "An error response has the class of its code",
        arguments: [
            (
                401,
                #"{"meta":{"status":401,"msg":"Unauthorized"},"response":[],"errors":[{"title":"Unauthorized","code":1016,"detail":"Unable to authorize"}]}"#,
                NetworkError.Class.auth
            ),
            (
                403,
                #"{"meta":{"status":403,"msg":"Forbidden"},"response":[],"errors":[{"code":8023,"detail":"daily post cap"}]}"#,
                .rateLimited(until: nil)
            ),
            (400, #"{"meta":{"status":400},"response":[],"errors":[{"code":8001,"detail":"bad NPF"}]}"#, .invalid),
            (429, #"{"meta":{"status":429,"msg":"Limit Exceeded"},"response":[]}"#, .rateLimited(until: nil)),
            (503, #"{"meta":{"status":503,"msg":"Service Unavailable"},"response":[]}"#, .transient),
            (404, #"{"meta":{"status":404,"msg":"Not Found"},"response":[]}"#, .notFound),
        ]
    )
    func errors(status: Int, body: String, kind: NetworkError.Class) async {
        network.answer("GET https://t/v2/user/dashboard", status, body)

        #expect(await failure { try await tumblr.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test(
        "An account is identified by its user name and by the names of its blogs",
        arguments: [
            ("ann", "t:1", "ann"), ("ANN", "t:1", "ann"), ("ann-paints", "t:2", "ann-paints"),
            ("ann-paints.tumblr.com", "t:2", "ann-paints"), ("t:1", "t:1", "ann"),
        ]
    )
    func accountNames(given: String, id: String, blog: String) async throws {
        network.answer(
            "GET https://t/v2/user/info",
            200,
            #"""
            {"meta":{"status":200},"response":{"user":{"name":"ann","blogs":[
            {"name":"ann","uuid":"t:1","primary":true},{"name":"ann-paints","uuid":"t:2","primary":false}]}}}
            """#
        )

        let identity = try await tumblr.identify(.ann(id: given, NetworkTokens(access: "t")))

        #expect(identity.id == id)
        #expect(identity.details["blog"] == blog)
        #expect(identity.matches(given))
        #expect(!identity.matches("bob"))
    }

    @Test("Text, photos and videos are published as blocks")
    func post() async throws {
        network.answer(
            "POST https://t/v2/blog/ann/posts",
            201,
            #"{"meta":{"status":201,"msg":"Created"},"response":{"id":"1234567891234567"}}"#
        )
        network.answer(
            "POST https://t/v2/blog/ann/posts",
            201,
            #"{"meta":{"status":201,"msg":"Created"},"response":{"id":1234567891234568}}"#
        )

        let posted = try await tumblr.publish(
            .saying("one\n\ntwo", photos: [.photo], video: .video),
            prepared: nil,
            as: ann
        )
        let text = try await tumblr.publish(.saying("text"), prepared: nil, as: ann)

        #expect(
            posted == PublishedPost(id: "ann/1234567891234567", url: "https://ann.tumblr.com/post/1234567891234567")
        )
        let form = network.asked[0].text
        #expect(form.contains(#"{"text":"one","type":"text"},{"text":"two","type":"text"}"#))
        #expect(form.contains(#""identifier":"media0""#))
        #expect(form.contains("name=\"media1\"; filename=\"video.mp4\""))
        #expect(text.id == "ann/1234567891234568")
        #expect((network.last?.json?["content"]).list.count == 1)
    }

    @Test("A long text is split into blocks of at most 4,096 characters")
    func longText() {
        let words = String(repeating: "word ", count: 1_000).trimmingCharacters(in: .whitespaces)
        let pieces = TumblrConnector.paragraphs("first\n\n\(words)")
        #expect(pieces.count == 3)
        #expect(pieces.allSatisfy { $0.unicodeScalars.count <= 4_096 })
        #expect(pieces.allSatisfy { !$0.isEmpty })
        #expect(pieces.dropFirst().joined(separator: " ") == words)
        #expect(TumblrConnector.paragraphs(String(repeating: "x", count: 5_000)).map(\.count) == [4_096, 904])
    }

    @Test("A like has the reblog key of the post")
    func like() async throws {
        network.answer(
            "GET https://t/v2/blog/staff/posts/6828225215",
            200,
            #"{"meta":{"status":200},"response":{"id":6828225215,"reblog_key":"b0baQtsl","post_url":"https://staff.tumblr.com/post/6828225215"}}"#
        )
        network.answer("POST https://t/v2/user/like", 200, #"{"meta":{"status":200,"msg":"OK"},"response":[]}"#)

        #expect(try await tumblr.like("staff/6828225215", as: ann).id == "staff/6828225215")
        #expect(network.last?.form("reblog_key") == "b0baQtsl")
        #expect(network.last?.form("id") == "6828225215")
        #expect(await failure { try await tumblr.like("6828225215", as: ann) }?.kind == .notFound)
    }

    @Test("An account is identified by its primary blog, and its tokens are renewed")
    func oauth() async throws {
        network.answer(
            "GET https://t/v2/user/info",
            200,
            #"{"meta":{"status":200},"response":{"user":{"name":"ann","blogs":[{"name":"second","primary":false},{"name":"first","uuid":"t:1","primary":true}]}}}"#
        )
        network.answer(
            "POST https://t/v2/oauth2/token",
            200,
            #"{"access_token":"a","expires_in":2520,"id_token":false,"refresh_token":"r2","scope":"write","token_type":"bearer"}"#
        )
        network.answer(
            "POST https://t/v2/oauth2/token",
            400,
            #"{"error":"invalid_grant","error_description":"Invalid refresh token"}"#
        )
        let account = NetworkAccount.ann(NetworkTokens(access: "old", refresh: "r1"))

        let identity = try await tumblr.identify(account)
        let renewed = try await tumblr.renew(account)
        let over = await failure { try await tumblr.renew(account) }

        #expect(identity.id == "t:1")
        #expect(identity.details["blog"] == "first")
        #expect(network.asked[0].header("authorization") == "Bearer old")
        #expect(renewed == NetworkTokens(access: "a", refresh: "r2", expiresAt: testNow.addingTimeInterval(2_520)))
        #expect(over?.kind == .auth)
    }
}

enum TumblrShapes {
    static func posts(_ posts: [String]) -> String {
        #"{"meta":{"status":200,"msg":"OK"},"response":{"posts":[\#(posts.joined(separator: ","))]}}"#
    }
    static let blocks = #"""
        {"object_type":"post","type":"text","is_blocks_post_format":true,"blog_name":"staff","blog":{"name":"staff","title":"Tumblr Staff","url":"https://staff.tumblr.com/","uuid":"t:0a","avatar":[{"width":64,"height":64,"url":"https://64/a.png"}]},"id":6828225215,"id_string":"6828225215","post_url":"https://staff.tumblr.com/post/6828225215","timestamp":1298665620,"state":"published","reblog_key":"b0baQtsl","note_count":14,"liked":false,"content":[{"type":"text","text":"Hello"},{"type":"image","media":[{"url":"https://64/x.jpg","type":"image/jpeg","width":540,"height":405}],"alt_text":"a cat"},{"type":"video","provider":"tumblr","media":{"url":"https://va/v.mp4","type":"video/mp4","width":640,"height":640}},{"type":"text","text":"there"}],"layout":[],"trail":[]}
        """#
    static let reblog = #"""
        {"blog_name":"cara","id_string":"6828225100","timestamp":1298665600,"post_url":"https://cara.tumblr.com/post/6828225100","content":[],"trail":[{"content":[{"type":"text","text":"root"}],"post":{"id":"77"},"blog":{"name":"bo","uuid":"t:b"}}]}
        """#
    static let legacy = #"""
        {"blog_name":"old","type":"photo","id":6828225000,"timestamp":1298665500,"caption":"<p>a caption</p>","photos":[{"caption":"","original_size":{"url":"https://64/p.jpg","width":5,"height":4},"alt_sizes":[]}]}
        """#
}
