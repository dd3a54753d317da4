import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of 2015 in their recorded format.
@Suite("Vine") struct VineTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(id: nil, NetworkTokens(access: "1169361810303164416-7508513e"))
    private var vine: VineConnector { VineConnector(ConnectorParts(network, "https://v")) }

    @Test("The timeline is read and paged")
    func timeline() async throws {
        network.answer("GET https://v/timelines/graph", 200, VineShapes.list(VineShapes.post, next: "2"))
        network.answer("GET https://v/timelines/graph", 200, VineShapes.list(VineShapes.repost, next: "null"))

        let first = try await vine.feed(PageRequest(limit: 10), as: ann)
        let second = try await vine.feed(PageRequest(cursor: first.next), as: ann)

        let post = first.items[0].item
        #expect(post.id.native == "1165534353162461184")
        #expect(post.text == "Replay #lnv")
        #expect(post.author?.username == "Carson")
        #expect(post.media == [ItemMedia(kind: .video, url: "http://mtc/x.mp4", thumbnailUrl: "http://v/x.jpg")])
        #expect(post.stats == ItemStats(likes: 2, comments: 0, reposts: 1, views: 1_609))
        #expect(post.liked == false)
        #expect(post.createdAt == NetworkTime.date("2015-01-10T03:07:38Z"))
        #expect(post.url == "https://vine.co/v/OpUIQmQYuQm")
        #expect(second.items[0].item.kind == .repost)
        #expect(second.items[0].original == "vine:1165534353162461184")
        #expect(second.items[0].item.liked == true)
        #expect(second.items[0].item.author?.name == "Bo")
        #expect(network.asked.map { $0.query("anchor") } == [nil, "1142067109166465024"])
        #expect(network.asked[1].query("page") == "2")
        #expect(second.next == nil)
        #expect(network.asked[0].header("vine-session-id") == "1169361810303164416-7508513e")
    }

    @Test("Notifications have the kind of their type")
    func notifications() async throws {
        let note =
            #"{"notificationId":492792423,"notificationTypeId":1,"body":"Bob liked your post","userId":23,"username":"Bob","verified":0,"created":"2015-01-10T03:07:38.000000","postId":1,"thumbnailUrl":"http://v/t.jpg"}"#
        network.answer(
            "GET https://v/users/1169361810303164416/notifications",
            200,
            VineShapes.list(
                "\(note),\(note.replacing("Id\":1,", with: "Id\":2,").replacing("423", with: "424"))",
                next: "null"
            )
        )

        let items = try await vine.notifications(PageRequest(), as: ann).items.map(\.item)

        #expect(items.map(\.kind) == [.like, .follow] && items[0].about?.id.native == "1")
        #expect(items[0].id.native == "notification/492792423")
    }

    @Test(
        "An error response has the class of its code",
        arguments: [
            (401, #"{"code":103,"data":"","success":false,"error":"Authenticate first"}"#, NetworkError.Class.auth),
            (400, #"{"code":101,"data":"","success":false,"error":"bad"}"#, .auth),
            (404, #"{"code":900,"data":"","success":false,"error":"That record does not exist."}"#, .notFound),
            (200, #"{"code":900,"data":"","success":false,"error":"no"}"#, .notFound),
            (200, #"{"code":1,"data":"","success":false,"error":"no"}"#, .invalid),
            (420, "", .rateLimited(until: testNow.addingTimeInterval(60))), (500, "", .transient),
        ]
    )
    func errors(status: Int, body: String, kind: NetworkError.Class) async {
        network.answer("GET https://v/timelines/graph", status, body)

        #expect(await failure { try await vine.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test("A user name and password are exchanged for a session key")
    func session() async throws {
        network.answer(
            "POST https://v/users/authenticate",
            200,
            #"{"code":"","data":{"username":"Bob","userId":1169361810303164416,"key":"1169361810303164416-uuid"},"success":true,"error":""}"#
        )

        let identity = try await vine.identify(.ann(id: "bob@example.org", NetworkTokens(access: "secret")))

        #expect(identity.id == "1169361810303164416")
        #expect(identity.tokens == NetworkTokens(access: "1169361810303164416-uuid"))
        #expect(network.last?.form("password") == "secret")
        #expect(network.last?.form("deviceToken")?.count == 64)
    }

    @Test("A video is uploaded with a thumbnail, published and liked")
    func video() async throws {
        let post = NetworkPost.saying("hi", video: .video)
        let name = post.key.uuidString.lowercased()
        network.answer("PUT https://v/upload/videos/\(name).mp4", 200, "", ["X-Upload-Key": "http://v/kept.mp4"])
        network.answer("PUT https://v/upload/thumbs/\(name).mp4.jpg", 200, "", ["X-Upload-Key": "http://v/kept.jpg"])
        network.answer(
            "POST https://v/posts",
            200,
            #"{"code":"","data":{"postId":1165534353162461185},"success":true,"error":""}"#
        )
        network.answer(
            "POST https://v/posts/5/likes",
            200,
            #"{"code":"","data":{"likeId":9},"success":true,"error":""}"#
        )

        let prepared = try await vine.prepare(post, as: ann)
        let posted = try await vine.publish(post, prepared: prepared, as: ann)

        #expect(posted.id == "1165534353162461185")
        #expect(network.last?.json?["videoUrl"]?.text == "http://v/kept.mp4")
        // The thumbnail is a valid JPEG.
        #expect(network.asked[1].body?.readableBytesView.starts(with: [0xFF, 0xD8, 0xFF]) == true)
        #expect(try await vine.like("repost/7/5", as: ann).id == "5")
        #expect(await failure { try await vine.prepare(.saying("text"), as: ann) }?.code == "media_missing")
        #expect(network.asked.count == 4)
    }
}

enum VineShapes {
    static let post = #"""
        {"postId":1165534353162461184,"userId":926567067996524544,"username":"Carson","avatarUrl":"http://v/a.jpg","description":"Replay #lnv","created":"2015-01-10T03:07:38.000000","videoUrl":"http://mtc/x.mp4","thumbnailUrl":"http://v/x.jpg","permalinkUrl":"https://vine.co/v/OpUIQmQYuQm","liked":0,"likes":{"count":2},"comments":{"count":0},"reposts":{"count":1},"loops":{"count":1609.0}}
        """#
    static let repost = post.replacing(
        #""liked":0"#,
        with: #""liked":true,"repost":{"repostId":7,"userId":8,"username":"Bo","created":"2015-01-11T00:00:00.000000"}"#
    )

    static func list(_ records: String, next: String) -> String {
        #"{"code":"","data":{"count":411,"records":[\#(records)],"nextPage":\#(next),"previousPage":null,"size":20,"anchor":1142067109166465024,"anchorStr":"1142067109166465024","backAnchor":""},"success":true,"error":""}"#
    }
}
