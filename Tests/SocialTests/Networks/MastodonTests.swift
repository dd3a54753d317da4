import Foundation
import HTTPTypes
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses of Mastodon 4.7.3 in their recorded format.
@Suite("Mastodon reads") struct MastodonTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(id: "1", instance: "https://h")
    private var mastodon: MastodonConnector { MastodonConnector(ConnectorParts(network, ""), pause: noPause) }

    private static let limits = [
        "x-ratelimit-limit": "300", "x-ratelimit-remaining": "298", "x-ratelimit-reset": "2026-10-14T19:15:00.089597Z",
    ]

    @Test("The home timeline is read and paged")
    func homeTimeline() async throws {
        let link =
            #"<https://evil.example/api/v1/timelines/home?max_id=117>; rel="next", <https://h/x?min_id=118>; rel="prev""#
        network.answer(
            "GET https://h/api/v1/timelines/home",
            200,
            "[\(MastodonShapes.status), \(MastodonShapes.boost)]",
            Self.limits.merging(["link": link]) { $1 }
        )
        network.answer("GET https://h/api/v1/timelines/home", 200, "[]")

        let page = try await mastodon.feed(PageRequest(limit: 500, includesRaw: true), as: ann)
        let end = try await mastodon.feed(PageRequest(cursor: page.next), as: ann)

        let status = try #require(page.items.first).item
        #expect(status.id == ItemID(.mastodon, "117440841385040618"))
        #expect(status.kind == .reply)
        #expect(status.about?.id.native == "99")
        #expect(status.text == "careful\n\nToot! <3")
        #expect(
            status.author
                == ItemAuthor(
                    id: "117440810532227399",
                    name: "Me",
                    username: "me@h",
                    avatarUrl: "https://h/a.png",
                    url: "https://h/@me"
                )
        )
        #expect(status.url == "https://h/@me/117440841385040618")
        #expect(status.stats == ItemStats(likes: 3, comments: 1, reposts: 2))
        #expect(status.liked == true)
        #expect(status.updatedAt == NetworkTime.date("2026-10-14T20:00:00Z"))
        #expect(
            status.media == [
                ItemMedia(
                    kind: .photo,
                    url: "https://f/o.jpeg",
                    thumbnailUrl: "https://f/s.jpeg",
                    width: 640,
                    height: 480,
                    alt: "alt"
                )
            ]
        )
        #expect(status.raw?["blurhash"] == nil)
        #expect(status.raw?["media_attachments"] != nil)
        #expect(page.items[0].original == "https://h/ap/users/1/statuses/117440841385040618")

        let boost = page.items[1].item
        #expect(boost.id.native == "118")
        #expect(boost.kind == .repost)
        #expect(boost.author?.username == "bo")
        #expect(boost.text == "original")
        #expect(boost.about?.id.native == "90")
        #expect(boost.about?.author?.username == "cara@far")
        #expect(boost.createdAt == NetworkTime.date("2026-10-14T19:00:00Z"))
        #expect(page.items[1].original == "https://far/s/90")
        #expect(
            page.budget
                == Budget(
                    scope: .account,
                    limit: 300,
                    remaining: 298,
                    resetAt: NetworkTime.date("2026-10-14T19:15:00.089597Z")
                )
        )
        // The next page is requested from the instance, whatever host the link names.
        #expect(network.asked.map { $0.query("max_id") } == [nil, "117"])
        #expect(network.asked.map(\.name) == Array(repeating: "GET https://h/api/v1/timelines/home", count: 2))
        #expect(network.asked[0].query("limit") == "40")
        #expect(network.asked[0].header("authorization") == "Bearer token")
        #expect(end.items.isEmpty)
        #expect(end.next == nil)
    }

    @Test("Conversations are read as threads")
    func conversations() async throws {
        network.answer(
            "GET https://h/api/v1/conversations",
            200,
            #"[{"id":"15","unread":true,"accounts":[{"id":"2","acct":"bo","display_name":""}],"last_status":\#(MastodonShapes.direct("7", by: "2", "psst"))},{"id":"16","accounts":[],"last_status":null}]"#,
            ["link": #"<https://h/api/v1/conversations?max_id=7>; rel="next""#]
        )

        let page = try await mastodon.threads(PageRequest(), as: ann)

        let thread = try #require(page.items.first).item
        #expect(page.items.count == 1)
        #expect(page.next != nil)
        #expect(thread.kind == .thread)
        #expect(thread.id.native == "conversation/15")
        #expect(thread.thread == "7")
        #expect(thread.unread == 1)
        #expect(thread.text == "psst")
        #expect(thread.participants == [ItemAuthor(id: "2", name: "bo", username: "bo")])
    }

    @Test("The private statuses of a context are the messages of a thread")
    func messages() async throws {
        for _ in 0..<2 {
            network.answer("GET https://h/api/v1/statuses/9", 200, MastodonShapes.direct("9", by: "2", "two"))
            network.answer(
                "GET https://h/api/v1/statuses/9/context",
                200,
                """
                {"ancestors":[{"id":"3","visibility":"public","created_at":"2026-10-14T19:00:00Z"},
                \(MastodonShapes.direct("8", by: "1", "one"))],"descendants":[\(MastodonShapes.direct("10", by: "1", "three"))]}
                """
            )
        }

        let first = try await mastodon.messages(of: "9", PageRequest(limit: 2), as: ann)
        let second = try await mastodon.messages(of: "9", PageRequest(cursor: first.next, limit: 2), as: ann)

        #expect(first.items.map(\.item.text) == ["three", "two"])
        #expect(second.items.map(\.item.text) == ["one"])
        #expect(second.next == nil)
        #expect(first.items.allSatisfy { $0.item.kind == .message })
        #expect(first.items.allSatisfy { $0.item.thread == "9" })
    }

    @Test("A mention in a private message is not a notification")
    func privateMention() async throws {
        let status = MastodonShapes.direct("9", by: "2", "psst")
        network.answer(
            "GET https://h/api/v1/notifications",
            200,
            #"[{"id":"20","type":"mention","created_at":"2026-10-14T19:00:00Z","account":{"id":"2","acct":"bo"},"status":\#(status)}]"#
        )

        let page = try await mastodon.notifications(PageRequest(), as: ann)

        #expect(page.items.isEmpty)
    }

    @Test("Notifications have the kind of their type")
    func notifications() async throws {
        let kinds = ["mention", "favourite", "reblog", "follow", "poll", "something.new"]
        let notes = kinds.enumerated().map { index, kind in
            let status =
                kind == "follow"
                ? "null" : MastodonShapes.direct("9", by: "1", "mine").replacing("direct", with: "public")
            return
                #"{"id":"\#(20 - index)","type":"\#(kind)","created_at":"2026-10-14T19:00:00Z","account":{"id":"2","acct":"bo"},"status":\#(status)}"#
        }
        network.answer("GET https://h/api/v1/notifications", 200, "[\(notes.joined(separator: ","))]")

        let items = try await mastodon.notifications(PageRequest(), as: ann).items.map(\.item)

        #expect(items.map(\.kind) == [.mention, .like, .repost, .follow, .other, .other])
        #expect(items[0].id.native == "notification/20")
        #expect(items[0].about?.id.native == "9")
        #expect(items[3].about == nil)
        #expect(items[3].text == "")
        #expect(items.allSatisfy { $0.author?.username == "bo" })
    }

    @Test("The limits of posts are those of the instance")
    func instanceLimits() async throws {
        network.answer(
            "GET https://h/api/v1/accounts/verify_credentials",
            200,
            #"{"id":"1","acct":"ann","display_name":"Ann"}"#
        )
        network.answer("GET https://h/api/v2/instance", 200, MastodonShapes.instance)

        let identity = try await mastodon.identify(ann)

        #expect(identity.id == "1")
        #expect(identity.username == "ann")
        #expect(identity.name == "Ann")
        let limits = mastodon.accountCapabilities(of: .ann(details: identity.details)).limits
        #expect(limits.text == 700)
        #expect(limits.photos == 6)
        #expect(limits.photoBytes == 1_000)
        #expect(limits.photoTypes == ["image/png"])
        #expect(limits.videoTypes == ["video/webm"])
        #expect(mastodon.accountCapabilities(of: .ann()).limits.text == 500)
        #expect(identity.details["streaming"] == "wss://stream.h")
    }

    @Test(
        "An error response has the class of its status",
        arguments: [
            (401, #"{"error":"The access token is invalid"}"#, NetworkError.Class.auth),
            (403, #"{"error":"This action is outside the authorized scopes"}"#, .permission),
            (404, #"{"error":"Record not found"}"#, .notFound), (422, #"{"error":"Validation failed"}"#, .invalid),
            (503, #"{"error":"Remote data could not be fetched"}"#, .transient), (502, "<html></html>", .transient),
            (206, "[]", .transient),
            (
                429, #"{"error":"Too many requests"}"#,
                .rateLimited(until: NetworkTime.date("2026-10-14T19:15:00.089597Z"))
            ),
        ]
    )
    func errors(status: Int, body: String, kind: NetworkError.Class) async {
        network.answer("GET https://h/api/v1/timelines/home", status, body, Self.limits)

        #expect(await failure { try await mastodon.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test("An account is linked with PKCE and its token is revoked")
    func oauth() async throws {
        network.answer("POST https://h/api/v1/apps", 200, #"{"id":"2","client_id":"c","client_secret":"s"}"#)
        network.answer(
            "POST https://h/oauth/token",
            200,
            #"{"access_token":"t","token_type":"Bearer","scope":"read write","created_at":1573979017}"#
        )
        network.answer("POST https://h/oauth/revoke")
        let request = AuthorizationRequest(
            callback: "https://roost/cb",
            state: "state",
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            instance: "https://h"
        )

        let authorization = try await mastodon.authorize(request)
        let linked = try await mastodon.complete(["code": "abc"], of: authorization, for: request)
        try await mastodon.revoke(.ann(linked.tokens, instance: "https://h"))

        let page = try #require(URLComponents(string: authorization.url))
        #expect(authorization.url.hasPrefix("https://h/oauth/authorize?"))
        let query = Dictionary(uniqueKeysWithValues: page.queryItems?.map { ($0.name, $0.value) } ?? [])
        #expect(query["state"] == "state")
        #expect(query["client_id"] == "c")
        #expect(query["redirect_uri"] == "https://roost/cb")
        // RFC 7636, appendix B.
        #expect(query["code_challenge"] == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(network.asked[1].form("code") == "abc")
        #expect(network.asked[1].form("code_verifier") == request.verifier)
        #expect(linked.tokens.access == "t")
        #expect(linked.tokens.expiresAt == nil)
        #expect(network.asked[2].form("token") == "t")
        #expect(network.asked[2].form("client_secret") == "s")
        let denied = await failure {
            try await mastodon.complete(["error": "access_denied"], of: authorization, for: request)
        }
        #expect(denied?.kind == .permission)
    }

    @Test("Events of a stream are read, and unknown ones ignored")
    func stream() async throws {
        let conversation = #"{"id":"15","last_status":\#(MastodonShapes.direct("7", by: "2", "psst"))}"#
        let text = [
            ":thump", "", "event: update", "data: \(MastodonShapes.boost)", "", "event: delete", "data: 118", "",
            "event: conversation", "data: \(conversation)", "", "event: filters_changed", "data: undefined", "", "",
        ].joined(separator: "\n")
        network.answer("GET https://stream.h/api/v1/streaming/user", 200, text)
        var account = ann
        account.details = ["streaming": "wss://stream.h"]

        var events: [NetworkEvent] = []
        for try await event in try await mastodon.events(as: account) { events.append(event) }

        #expect(events.map(\.list) == [.feed, .feed, .messages])
        #expect(events.allSatisfy { $0.account == "1" })
        #expect(events[1].change == .deleted("118"))
        guard case .created(let boost) = events[0].change, case .created(let message) = events[2].change else {
            Issue.record("not created")
            return
        }
        #expect(boost.item.kind == .repost)
        #expect(message.item.text == "psst")
    }
}

enum MastodonShapes {
    static let status = #"""
        {"id":"117440841385040618","created_at":"2026-10-14T19:10:26.017Z","in_reply_to_id":"99","in_reply_to_account_id":null,"sensitive":true,"spoiler_text":"careful","visibility":"public","language":"en","uri":"https://h/ap/users/1/statuses/117440841385040618","url":"https://h/@me/117440841385040618","replies_count":1,"reblogs_count":2,"favourites_count":3,"quotes_count":0,"edited_at":"2026-10-14T20:00:00.000Z","favourited":true,"reblogged":false,"content":"<p>Toot! &lt;3</p>","filtered":[],"reblog":null,"account":{"id":"117440810532227399","username":"me","acct":"me@h","display_name":"Me","url":"https://h/@me","avatar":"https://h/a.png"},"media_attachments":[{"id":"22348641","type":"image","url":"https://f/o.jpeg","preview_url":"https://f/s.jpeg","remote_url":null,"meta":{"original":{"width":640,"height":480,"aspect":1.33}},"description":"alt","blurhash":"UFBWY"}],"mentions":[],"tags":[],"emojis":[],"quote":null,"card":null,"poll":null}
        """#
    static let boost = #"""
        {"id":"118","created_at":"2026-10-14T19:00:00.000Z","uri":"https://h/s/118","content":"","account":{"id":"2","acct":"bo","display_name":"Bo"},"media_attachments":[],"reblog":{"id":"90","created_at":"2026-10-14T10:00:00.000Z","uri":"https://far/s/90","url":"https://far/@cara/90","content":"<p>original</p>","account":{"id":"3","acct":"cara@far"},"media_attachments":[]}}
        """#
    static let instance = #"""
        {"domain":"h","version":"4.7.3","configuration":{"urls":{"streaming":"wss://stream.h"},"statuses":{"max_characters":700,"max_media_attachments":6,"characters_reserved_per_url":23},"media_attachments":{"supported_mime_types":["image/png","video/webm","audio/ogg"],"image_size_limit":1000,"video_size_limit":2000}}}
        """#

    static func direct(_ id: String, by author: String, _ text: String, at: String = "2026-11-18T00:00:00Z") -> String {
        #"{"id":"\#(id)","visibility":"direct","created_at":"\#(at)","content":"<p>\#(text)</p>","account":{"id":"\#(author)","acct":"\#(author == "1" ? "ann" : "bo")"},"media_attachments":[],"mentions":[{"id":"4","acct":"dan@far"}]}"#
    }
}
