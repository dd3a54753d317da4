import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Bluesky posts") struct BlueskyPostingTests {
    private let network = RecordedNetwork()
    private let ann = NetworkAccount.ann(id: "did:plc:me", NetworkTokens(access: "a.b.c", refresh: "r.e.f"))
    private var bluesky: BlueskyConnector { BlueskyConnector(ConnectorParts(network, "https://pds"), pause: noPause) }
    private let blob = #"{"$type":"blob","ref":{"$link":"bafkrei"},"mimeType":"image/jpeg","size":4}"#

    @Test("A post has its photo and the positions of links, mentions and hashtags")
    func post() async throws {
        network.answer("POST https://pds/xrpc/com.atproto.repo.uploadBlob", 200, #"{"blob":\#(blob)}"#)
        network.answer("GET https://pds/xrpc/com.atproto.identity.resolveHandle", 200, #"{"did":"did:plc:bo"}"#)
        network.answer(
            "GET https://pds/xrpc/com.atproto.identity.resolveHandle",
            400,
            #"{"error":"InvalidRequest","message":"Unable to resolve handle"}"#
        )
        network.answer(
            "POST https://pds/xrpc/com.atproto.repo.putRecord",
            200,
            #"{"uri":"at://did:plc:me/app.bsky.feed.post/3k","cid":"bafy","validationStatus":"valid"}"#
        )
        let post = NetworkPost.saying("é @bo.test @no.one see https://a.example/x. #fun", photos: [.photo])

        let prepared = try await bluesky.prepare(post, as: ann)
        let posted = try await bluesky.publish(post, prepared: prepared, as: ann)

        #expect(posted.id == "at://did:plc:me/app.bsky.feed.post/3k")
        #expect(posted.url == "https://bsky.app/profile/ann/post/3k")
        #expect(network.asked[0].header("content-type") == "image/jpeg")
        #expect(network.asked[0].body == OutgoingMedia.photo.bytes)
        let body = try #require(network.last?.json)
        let record = try #require(body["record"])
        #expect(body["repo"]?.text == "did:plc:me")
        #expect(body["collection"]?.text == "app.bsky.feed.post")
        #expect(record["createdAt"]?.text == Timestamp.string(from: testNow))
        let images = (record["embed"]?["images"]).list
        let image = try #require(images.first)
        #expect(image["image"]?["ref"]?["$link"]?.text == "bafkrei")
        #expect(image["alt"]?.text == "a cat")
        #expect(image["aspectRatio"]?["width"]?.whole == 4)
        // Positions are in bytes of UTF-8, without the full stop after the URL.
        let facets = record["facets"].list.map { facet in
            [facet["index"]?["byteStart"]?.whole, facet["index"]?["byteEnd"]?.whole]
        }
        #expect(facets == [[24, 43], [45, 49], [3, 11]])
        #expect(record["facets"].list[0]["features"].list.first?["uri"]?.text == "https://a.example/x")
        #expect(record["facets"].list[2]["features"].list.first?["did"]?.text == "did:plc:bo")
    }

    @Test("The record key follows from the post, so that a post with unknown outcome is found")
    func recordKey() async throws {
        network.answer("POST https://pds/xrpc/com.atproto.repo.putRecord", 500)
        network.answer(
            "GET https://pds/xrpc/com.atproto.repo.getRecord",
            200,
            #"{"uri":"at://did:plc:me/app.bsky.feed.post/3k","cid":"b","value":{}}"#
        )
        network.answer(
            "GET https://pds/xrpc/com.atproto.repo.getRecord",
            400,
            #"{"error":"RecordNotFound","message":"Could not locate record"}"#
        )
        let post = NetworkPost.saying("hi")

        let unknown = await failure(isWrite: true) { try await bluesky.publish(post, prepared: nil, as: ann) }
        let found = try await bluesky.find(post, prepared: nil, as: ann)
        let other = try await bluesky.find(.saying("hi"), prepared: nil, as: ann)

        #expect(unknown?.kind == .unknownOutcome)
        #expect(found?.id == "at://did:plc:me/app.bsky.feed.post/3k")
        #expect(other == nil)
        let keys = [
            network.asked[0].json?["rkey"]?.text, network.asked[1].query("rkey"), network.asked[2].query("rkey"),
        ]
        #expect(keys[0] == keys[1] && keys[0] != keys[2])
        #expect(try #require(keys[0]).wholeMatch(of: /[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}/) != nil)
    }

    @Test("A video is uploaded and its processing awaited")
    func video() async throws {
        let vds = "https://pds/xrpc/app.bsky.video"
        network.answer("GET https://pds/xrpc/com.atproto.server.getServiceAuth", 200, #"{"token":"service"}"#)
        network.answer(
            "POST \(vds).uploadVideo",
            200,
            #"{"jobStatus":{"jobId":"j","did":"did:plc:me","state":"JOB_STATE_CREATED"}}"#
        )
        network.answer(
            "GET \(vds).getJobStatus",
            200,
            #"{"jobStatus":{"jobId":"j","state":"JOB_STATE_ENCODING","progress":50}}"#
        )
        network.answer(
            "GET \(vds).getJobStatus",
            200,
            #"{"jobStatus":{"jobId":"j","state":"JOB_STATE_COMPLETED","blob":\#(blob)}}"#
        )

        let prepared = try #require(try await bluesky.prepare(.saying("", video: .video), as: ann))

        #expect(prepared.value["embed"]?["$type"]?.text == "app.bsky.embed.video")
        #expect(prepared.value["embed"]?["video"]?["ref"]?["$link"]?.text == "bafkrei")
        #expect(network.asked[0].query("aud") == "did:web:pds")
        #expect(network.asked[1].header("authorization") == "Bearer service")
        network.answer("GET https://pds/xrpc/com.atproto.server.getServiceAuth", 200, #"{"token":"service"}"#)
        network.answer("POST \(vds).uploadVideo", 200, #"{"jobStatus":{"jobId":"j","state":"JOB_STATE_CREATED"}}"#)
        network.answer(
            "GET \(vds).getJobStatus",
            200,
            #"{"jobStatus":{"jobId":"j","state":"JOB_STATE_FAILED","error":"too long"}}"#
        )
        let failed = await failure { try await bluesky.prepare(.saying("", video: .video), as: ann) }
        #expect(failed?.kind == .invalid)
        #expect(failed?.reason == "too long")
    }

    @Test("A post that exceeds a limit is rejected without a request")
    func limits() async {
        var large = OutgoingMedia.photo
        large.bytes = ByteBuffer(repeating: 0, count: 976_001)

        #expect(
            await failure { try await bluesky.prepare(.saying(String(repeating: "é", count: 301)), as: ann) }?.code
                == "text_too_long"
        )
        #expect(
            await failure { try await bluesky.prepare(.saying(String(repeating: "👨‍👩‍👧‍👦", count: 299)), as: ann) }?.code
                == "text_too_long"
        )
        #expect(
            await failure { try await bluesky.prepare(.saying("", photos: [large]), as: ann) }?.code
                == "photo_too_large"
        )
        #expect(await failure { try await bluesky.reply(.saying("", in: "3kx"), as: ann) }?.code == "text_missing")
        #expect(network.asked.isEmpty)
    }

    @Test("A like is published unless the post is liked already")
    func like() async throws {
        let uri = "at://did:plc:asdf/app.bsky.feed.post/3jv3wdw2hkt25"
        let unliked = BlueskyShapes.post.replacing(#""like":"at://did:plc:me/app.bsky.feed.like/3k","#, with: "")
        network.answer("GET https://pds/xrpc/app.bsky.feed.getPosts", 200, #"{"posts":[\#(unliked)]}"#)
        network.answer(
            "POST https://pds/xrpc/com.atproto.repo.putRecord",
            200,
            #"{"uri":"at://did:plc:me/app.bsky.feed.like/2","cid":"b"}"#
        )
        network.answer("GET https://pds/xrpc/app.bsky.feed.getPosts", 200, #"{"posts":[\#(BlueskyShapes.post)]}"#)
        network.answer("GET https://pds/xrpc/app.bsky.feed.getPosts", 200, #"{"posts":[]}"#)

        let liked = try await bluesky.like("repost/did:plc:dan/\(uri)", as: ann)
        #expect(liked.id == uri)
        #expect(network.asked[1].json?["record"]?["subject"]?["cid"]?.text == "bafyreib")
        #expect(try await bluesky.like(uri, as: ann).id == uri)
        #expect(network.asked.count == 3)
        #expect(await failure { try await bluesky.like(uri, as: ann) }?.kind == .notFound)
    }

    @Test("A reply is sent to its chat and found there")
    func reply() async throws {
        network.answer(
            "POST https://pds/xrpc/chat.bsky.convo.sendMessage",
            200,
            #"{"id":"m3","rev":"4","text":"ok","sender":{"did":"did:plc:me"},"sentAt":"2026-11-18T00:00:00.000Z"}"#
        )
        network.answer(
            "GET https://pds/xrpc/chat.bsky.convo.getMessages",
            200,
            #"{"messages":[{"id":"m3","text":"ok","sender":{"did":"did:plc:me"},"sentAt":"2027-01-01T00:00:00.000Z"}]}"#
        )

        #expect(try await bluesky.reply(.saying("ok", in: "3kx"), as: ann).id == "message/m3")
        #expect(network.last?.json?["convoId"]?.text == "3kx")
        #expect(network.last?.json?["message"]?["text"]?.text == "ok")
        #expect(try await bluesky.find(.saying("ok", in: "3kx"), as: ann)?.id == "message/m3")
    }
}
