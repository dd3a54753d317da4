import Foundation
import Multipart
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Mastodon posts") struct MastodonPostingTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(id: "1", instance: "https://h")
    private var mastodon: MastodonConnector { MastodonConnector(ConnectorParts(network, ""), pause: noPause) }

    @Test("A post with photos waits for their processing and has an idempotency key")
    func media() async throws {
        network.answer("POST https://h/api/v2/media", 200, #"{"id":"5","type":"image","url":"https://f/5"}"#)
        network.answer("POST https://h/api/v2/media", 202, #"{"id":"6","type":"image","url":null}"#)
        network.answer("GET https://h/api/v1/media/6", 206, #"{"id":"6","url":null}"#)
        network.answer("GET https://h/api/v1/media/6", 200, #"{"id":"6","url":"https://f/6"}"#)
        network.answer("POST https://h/api/v1/statuses", 200, #"{"id":"77","url":"https://h/@ann/77"}"#)
        let post = NetworkPost.saying("hi", photos: [.photo, .photo])

        let prepared = try await mastodon.prepare(post, as: ann)
        let posted = try await mastodon.publish(post, prepared: prepared, as: ann)

        #expect(posted == PublishedPost(id: "77", url: "https://h/@ann/77"))
        let sentRequest = try #require(network.last)
        #expect(sentRequest.json?["media_ids"] == .array([.string("5"), .string("6")]))
        #expect(sentRequest.json?["status"]?.text == "hi")
        #expect(sentRequest.header("idempotency-key") == post.key.uuidString.lowercased())
        let sent = network.asked[0]
        #expect(sent.header("content-type")?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(sent.body?.readableBytesView.contains(0xFF) == true)
    }

    @Test("A post that exceeds a limit is rejected without a request")
    func limits() async {
        var long = NetworkPost.saying(String(repeating: "x", count: 501))
        let tooLong = await failure { try await mastodon.publish(long, prepared: nil, as: ann) }
        long.text = ""
        long.photos = [.photo]
        long.video = .video
        let mixed = await failure { try await mastodon.prepare(long, as: ann) }

        #expect(tooLong?.code == "text_too_long")
        #expect(mixed?.code == "mixed_media")
        #expect(network.asked.isEmpty)
    }

    @Test("A post with unknown outcome is found by its text and time")
    func find() async throws {
        let statuses = """
            [\(MastodonShapes.direct("80", by: "1", "hello", at: "2025-01-01T00:00:00Z")),
            \(MastodonShapes.direct("81", by: "1", "hello &amp; <br>more", at: "2026-11-18T00:00:00Z"))]
            """
        for _ in 0..<3 { network.answer("GET https://h/api/v1/accounts/1/statuses", 200, statuses) }
        var post = NetworkPost.saying("hello & more")
        post.createdAt = try #require(NetworkTime.date("2026-11-17T23:59:59Z"))
        var old = post
        old.text = "hello"

        #expect(try await mastodon.find(post, prepared: nil, as: ann)?.id == "81")
        #expect(try await mastodon.find(old, prepared: nil, as: ann) == nil)
        network.fail("POST https://h/api/v1/statuses", .noAnswer("slow"))
        network.answer("POST https://h/api/v1/statuses", 500)
        for _ in 0..<2 {
            let unknown = await failure(isWrite: true) { try await mastodon.publish(post, prepared: nil, as: ann) }
            #expect(unknown?.kind == .unknownOutcome)
        }
    }

    @Test("A reply is a direct status that mentions all participants")
    func reply() async throws {
        network.answer("GET https://h/api/v1/statuses/9", 200, MastodonShapes.direct("9", by: "2", "two"))
        network.answer(
            "GET https://h/api/v1/statuses/9/context",
            200,
            #"{"ancestors":[],"descendants":[\#(MastodonShapes.direct("10", by: "1", "three"))]}"#
        )
        network.answer("POST https://h/api/v1/statuses", 200, #"{"id":"11","url":null}"#)

        let posted = try await mastodon.reply(.saying("gladly", in: "9"), as: ann)

        #expect(posted.id == "11")
        let sentRequest = try #require(network.last?.json)
        #expect(sentRequest["status"]?.text == "@dan@far @bo gladly")
        #expect(sentRequest["visibility"]?.text == "direct")
        #expect(sentRequest["in_reply_to_id"]?.text == "10")
    }

    @Test("A reply with unknown outcome is found in its thread")
    func findReply() async throws {
        for _ in 0..<2 {
            network.answer("GET https://h/api/v1/statuses/9", 200, MastodonShapes.direct("9", by: "2", "gladly"))
            network.answer(
                "GET https://h/api/v1/statuses/9/context",
                200,
                #"{"ancestors":[],"descendants":[\#(MastodonShapes.direct("10", by: "1", "@bo @dan gladly"))]}"#
            )
        }
        var reply = NetworkReply.saying("gladly", in: "9")
        reply.createdAt = try #require(NetworkTime.date("2026-11-17T23:59:59Z"))

        #expect(try await mastodon.find(reply, as: ann)?.id == "10")
        reply.text = "hardly"
        #expect(try await mastodon.find(reply, as: ann) == nil)
    }

    @Test("A like is published")
    func like() async throws {
        network.answer(
            "POST https://h/api/v1/statuses/9/favourite",
            200,
            #"{"id":"9","favourited":true,"url":"https://h/9"}"#
        )

        #expect(try await mastodon.like("9", as: ann) == PublishedPost(id: "9", url: "https://h/9"))
    }
}
