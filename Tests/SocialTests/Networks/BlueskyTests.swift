import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Responses in the format of the lexicons of 2026.
@Suite("Bluesky reads") struct BlueskyTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(id: "did:plc:me", NetworkTokens(access: "a.b.c", refresh: "r.e.f"))
    private var bluesky: BlueskyConnector { BlueskyConnector(ConnectorParts(network, "https://pds"), pause: noPause) }
    private static let limits = [
        "ratelimit-limit": "3000", "ratelimit-remaining": "2999", "ratelimit-reset": "1795000300",
        "ratelimit-policy": "3000;w=300",
    ]

    @Test("The timeline is read and paged over empty pages")
    func timeline() async throws {
        network.answer(
            "GET https://pds/xrpc/app.bsky.feed.getTimeline",
            200,
            #"{"cursor":"c1","feed":[\#(BlueskyShapes.repost),\#(BlueskyShapes.quote)]}"#,
            Self.limits
        )
        network.answer("GET https://pds/xrpc/app.bsky.feed.getTimeline", 200, #"{"cursor":"c2","feed":[]}"#)
        network.answer("GET https://pds/xrpc/app.bsky.feed.getTimeline", 200, #"{"feed":[]}"#)

        let first = try await bluesky.feed(PageRequest(limit: 2, includesRaw: true), as: ann)
        let empty = try await bluesky.feed(PageRequest(cursor: first.next), as: ann)
        let last = try await bluesky.feed(PageRequest(cursor: empty.next), as: ann)

        let repost = first.items[0].item
        #expect(repost.kind == .repost)
        #expect(repost.author?.username == "dan.test")
        #expect(repost.id.native == "repost/did:plc:dan/at://did:plc:asdf/app.bsky.feed.post/3jv3wdw2hkt25")
        #expect(repost.createdAt == NetworkTime.date("2022-01-02T03:05:00.000Z"))
        #expect(repost.text == "too cool")
        #expect(repost.liked == true)
        #expect(repost.about?.author?.username == "alice.test")
        #expect(first.items[0].original == "at://did:plc:asdf/app.bsky.feed.post/3jv3wdw2hkt25")
        #expect(
            repost.media == [
                ItemMedia(
                    kind: .photo,
                    url: "https://cdn/f",
                    thumbnailUrl: "https://cdn/t",
                    width: 4,
                    height: 3,
                    alt: "cat"
                )
            ]
        )
        #expect(repost.url == "https://bsky.app/profile/alice.test/post/3jv3wdw2hkt25")
        #expect(repost.stats == ItemStats(likes: 5, comments: 0, reposts: 1))
        #expect(repost.raw?["reason"] != nil)

        let quote = first.items[1].item
        #expect(quote.kind == .quote)
        #expect(quote.about?.text == "quoted")
        #expect(quote.liked == false)
        #expect(quote.media.map(\.kind) == [.video])
        #expect(
            first.budget
                == Budget(
                    scope: .address,
                    limit: 3000,
                    remaining: 2999,
                    resetAt: Date(timeIntervalSince1970: 1_795_000_300)
                )
        )
        #expect(network.asked.map { $0.query("cursor") } == [nil, "c1", "c2"])
        #expect(empty.items.isEmpty)
        #expect(empty.next != nil)
        #expect(last.next == nil)
    }

    /// Such a page would otherwise be shown forever.
    ///
    /// An empty page that repeats its cursor may have items the next time.
    @Test("A page with items that repeats its cursor is the last one")
    func repeatedCursor() async throws {
        let path = "GET https://pds/xrpc/app.bsky.feed.getTimeline"
        network.answer(path, 200, #"{"cursor":"c1","feed":[]}"#)
        network.answer(path, 200, #"{"cursor":"c1","feed":[]}"#)
        network.answer(path, 200, #"{"cursor":"c1","feed":[\#(BlueskyShapes.quote)]}"#)

        let first = try await bluesky.feed(PageRequest(), as: ann)
        let second = try await bluesky.feed(PageRequest(cursor: first.next), as: ann)
        let third = try await bluesky.feed(PageRequest(cursor: second.next), as: ann)

        #expect(first.next != nil)
        #expect(second.next != nil)
        #expect(third.items.count == 1)
        #expect(third.next == nil)
    }

    @Test("Notifications have the kind of their reason")
    func notifications() async throws {
        network.answer(
            "GET https://pds/xrpc/app.bsky.notification.listNotifications",
            200,
            #"""
            {"cursor":"n","notifications":[
            {"uri":"at://did:plc:bo/app.bsky.feed.like/1","cid":"b","author":{"did":"did:plc:bo","handle":"bo.test"},"reason":"like","reasonSubject":"at://did:plc:me/app.bsky.feed.post/9","record":{},"isRead":false,"indexedAt":"2026-01-01T00:00:00.000Z"},
            {"uri":"at://did:plc:bo/app.bsky.feed.post/2","cid":"b","author":{"did":"did:plc:bo","handle":"bo.test"},"reason":"reply","record":{"text":"hey"},"isRead":true,"indexedAt":"2026-01-01T00:00:00.000Z"},
            {"uri":"at://did:plc:bo/x/3","cid":"b","author":{"did":"did:plc:bo","handle":"bo.test"},"reason":"contact-match","isRead":true,"indexedAt":"2026-01-01T00:00:00.000Z"}]}
            """#
        )

        let items = try await bluesky.notifications(PageRequest(), as: ann).items.map(\.item)

        #expect(items.map(\.kind) == [.like, .reply, .other])
        #expect(items.map(\.unread) == [1, 0, 0])
        #expect(items[0].about?.id.native == "at://did:plc:me/app.bsky.feed.post/9")
        #expect(items[1].text == "hey")
        #expect(items[1].url == "https://bsky.app/profile/bo.test/post/2")
        #expect(items[0].url == "https://bsky.app/profile/bo.test")
    }

    @Test("Chats and their messages are read, without deleted messages")
    func chats() async throws {
        network.answer(
            "GET https://pds/xrpc/chat.bsky.convo.listConvos",
            200,
            #"""
            {"convos":[{"id":"3kx","rev":"2222","members":[{"did":"did:plc:me","handle":"me.test"},{"did":"did:plc:bo","handle":"bo.test","displayName":"Bo"}],"lastMessage":{"$type":"chat.bsky.convo.defs#messageView","id":"m1","rev":"2222","text":"hi","sender":{"did":"did:plc:bo"},"sentAt":"2026-01-01T00:00:00.000Z"},"unreadCount":2,"muted":false,"status":"accepted"}]}
            """#
        )
        network.answer(
            "GET https://pds/xrpc/chat.bsky.convo.getMessages",
            200,
            #"""
            {"messages":[{"$type":"chat.bsky.convo.defs#messageView","id":"m2","rev":"3","text":"two","sender":{"did":"did:plc:me"},"sentAt":"2026-01-01T00:00:02.000Z"},
            {"$type":"chat.bsky.convo.defs#deletedMessageView","id":"m1","rev":"2","sender":{"did":"did:plc:bo"},"sentAt":"2026-01-01T00:00:01.000Z"},
            {"$type":"chat.bsky.convo.defs#systemMessageView","id":"m0","rev":"1","sentAt":"2026-01-01T00:00:00.000Z"}]}
            """#
        )

        let threads = try await bluesky.threads(PageRequest(), as: ann).items.map(\.item)
        let messages = try await bluesky.messages(of: "3kx", PageRequest(), as: ann).items.map(\.item)

        #expect(threads.map(\.thread) == ["3kx"] && threads[0].unread == 2 && threads[0].text == "hi")
        #expect(threads[0].participants?.map(\.name) == ["Bo"])
        #expect(threads[0].author?.name == "Bo")
        #expect(messages.map(\.text) == ["two"] && messages[0].thread == "3kx")
        #expect(network.asked.allSatisfy { $0.header("atproto-proxy") == "did:web:api.bsky.chat#bsky_chat" })
        #expect(network.asked[1].query("convoId") == "3kx")
    }

    @Test(
        "An error response has the class of its name",
        arguments: [
            (400, "ExpiredToken", NetworkError.Class.auth), (401, "AuthMissing", .auth), (400, "InvalidToken", .auth),
            (403, "AccountTakedown", .permission), (400, "InvalidConvo", .notFound), (400, "InvalidRequest", .invalid),
            (404, "XRPCNotSupported", .unsupported), (413, "PayloadTooLarge", .invalid),
            (502, "UpstreamFailure", .transient),
            (429, "RateLimitExceeded", .rateLimited(until: Date(timeIntervalSince1970: 1_795_000_300))),
        ]
    )
    func errors(status: Int, code: String, kind: NetworkError.Class) async {
        let body = #"{"error":"\#(code)","message":"so it is"}"#
        network.answer("GET https://pds/xrpc/app.bsky.feed.getTimeline", status, body, Self.limits)

        #expect(await failure { try await bluesky.feed(PageRequest(), as: ann) }?.kind == kind)
    }

    @Test("An app password without access to chats remains valid for the rest")
    func appPasswordScope() async {
        let body = #"{"error":"InvalidToken","message":"Bad token method"}"#
        network.answer("GET https://pds/xrpc/chat.bsky.convo.listConvos", 400, body)

        #expect(await failure { try await bluesky.threads(PageRequest(), as: ann) }?.kind == .permission)
    }

    @Test("An app password is exchanged for a session, which is renewed and revoked")
    func session() async throws {
        let access = BlueskyShapes.jwt(#"{"scope":"com.atproto.appPass","exp":1795007200}"#)
        network.answer(
            "POST https://pds/xrpc/com.atproto.server.createSession",
            200,
            ##"{"did":"did:plc:me","handle":"me.test","accessJwt":"\##(access)","refreshJwt":"r.1.x","didDoc":{"service":[{"id":"#atproto_pds","type":"AtprotoPersonalDataServer","serviceEndpoint":"https://shiitake.host/"}]}}"##
        )
        network.answer(
            "POST https://pds/xrpc/com.atproto.server.refreshSession",
            200,
            #"{"did":"did:plc:me","accessJwt":"\#(access)","refreshJwt":"r.2.x"}"#
        )
        network.answer(
            "POST https://pds/xrpc/com.atproto.server.refreshSession",
            401,
            #"{"error":"ExpiredToken","message":"Token has been revoked"}"#
        )
        network.answer("POST https://pds/xrpc/com.atproto.server.deleteSession")

        let identity = try await bluesky.identify(.ann(id: "me.test", NetworkTokens(access: "abcd-efgh-ijkl-mnop")))
        let tokens = try #require(identity.tokens)
        let renewed = try await bluesky.renew(.ann(tokens))
        let over = await failure { try await bluesky.renew(.ann(tokens)) }
        try await bluesky.revoke(.ann(renewed))

        #expect(identity.id == "did:plc:me")
        #expect(identity.details["pds"] == "https://shiitake.host")
        #expect(tokens.expiresAt == Date(timeIntervalSince1970: 1_795_007_200))
        #expect(network.asked[0].json?["identifier"]?.text == "me.test")
        #expect(network.asked[0].json?["password"]?.text == "abcd-efgh-ijkl-mnop")
        #expect(network.asked[1].header("authorization") == "Bearer r.1.x")
        #expect(network.asked[1].body == nil)
        #expect(renewed.refresh == "r.2.x")
        #expect(over?.kind == .auth)
        #expect(network.asked[3].header("authorization") == "Bearer r.2.x")
        let supported = bluesky.accountCapabilities(of: .ann(tokens)).supported
        #expect(supported.contains(.text))
        #expect(!supported.contains(.messages))
        #expect(!supported.contains(.reply))
        #expect(bluesky.accountCapabilities(of: ann).supported.contains(.reply))
    }
}

enum BlueskyShapes {
    static let post = #"""
        {"uri":"at://did:plc:asdf/app.bsky.feed.post/3jv3wdw2hkt25","cid":"bafyreib","author":{"did":"did:plc:asdf","handle":"alice.test","displayName":"ali","avatar":"https://cdn.bsky.app/img/avatar/plain/x","labels":[]},"record":{"$type":"app.bsky.feed.post","text":"too cool","createdAt":"2002-01-02T03:04:05.000Z","langs":["en"],"reply":{"root":{"uri":"at://r","cid":"c"},"parent":{"uri":"at://p","cid":"c"}}},"embed":{"$type":"app.bsky.embed.images#view","images":[{"thumb":"https://cdn/t","fullsize":"https://cdn/f","alt":"cat","aspectRatio":{"width":4,"height":3}}]},"replyCount":0,"repostCount":1,"likeCount":5,"quoteCount":0,"indexedAt":"2022-01-02T03:04:05.000Z","viewer":{"like":"at://did:plc:me/app.bsky.feed.like/3k","threadMuted":false},"labels":[]}
        """#
    static let repost = #"""
        {"post":\#(post),"reason":{"$type":"app.bsky.feed.defs#reasonRepost","uri":"at://did:plc:dan/app.bsky.feed.repost/9","by":{"did":"did:plc:dan","handle":"dan.test"},"indexedAt":"2022-01-02T03:05:00.000Z"},"reply":{"root":{"$type":"app.bsky.feed.defs#postView"},"parent":{"$type":"app.bsky.feed.defs#notFoundPost","uri":"at://p","notFound":true}}}
        """#
    static let quote = #"""
        {"post":{"uri":"at://did:plc:bo/app.bsky.feed.post/7","cid":"c","author":{"did":"did:plc:bo","handle":"bo.test"},"record":{"text":"look"},"embed":{"$type":"app.bsky.embed.recordWithMedia#view","record":{"record":{"$type":"app.bsky.embed.record#viewRecord","uri":"at://did:plc:asdf/app.bsky.feed.post/1","author":{"did":"did:plc:asdf","handle":"alice.test"},"value":{"text":"quoted"}}},"media":{"$type":"app.bsky.embed.video#view","playlist":"https://video/p.m3u8","thumbnail":"https://video/t.jpg","aspectRatio":{"width":16,"height":9}}},"indexedAt":"2022-01-01T00:00:00.000Z","viewer":{}}}
        """#

    static func jwt(_ claims: String) -> String { "e30.\(Base64URL.encode(Data(claims.utf8))).c2ln" }
}
