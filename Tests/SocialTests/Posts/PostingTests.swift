import Foundation
import HTTPTypes
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Publishing") struct PostingTests {
    @Test("Each network receives the elements that it supports, and the results name the others")
    func elements() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .twitter, .tumblr, .reddit)
            fixture.networks[.tumblr].behavior.change { $0.supported = [.text, .photo] }
            fixture.networks[.reddit].behavior.change { behavior in
                behavior.supported = [.feed]
                behavior.reasons = [.text: "not here"]
            }
            let data = #"{"text": "Hello", "location": {"latitude": 48.2, "longitude": 16.4, "name": "Vienna"}}"#

            let answer = try await fixture.ann.ask(.post, "/feed", #"{"data": \#(data)}"#)

            #expect(answer.status == 200)
            #expect(answer.json["meta"]["code"].int == 200)
            let results = answer.json["data"]["results"]
            #expect(results["facebook"]["id"].string == "facebook:of Hello")
            #expect(results["twitter"]["code"].int == 200)
            #expect(results["twitter"]["url"].string != nil)
            #expect(results["tumblr"]["parts"]["text"].int == 200)
            #expect(results["tumblr"]["parts"]["location"].int == 422)
            #expect(results["reddit"]["code"].int == 422)
            #expect(results["reddit"]["reason"].string == "not here")
            #expect(fixture.networks[.twitter].seen.value.map { $0.location?.name ?? "none" } == ["Vienna"])
            #expect(fixture.networks[.tumblr].seen.value.map { $0.location?.name ?? "none" } == ["none"])
            #expect(fixture.networks[.reddit].seen.value.isEmpty)
        }
    }

    @Test(
        "An invalid post is rejected by field and published nowhere",
        arguments: [
            (#"{"data": {}}"#, "data"), (#"{"data": {"text": ""}}"#, "data"), (#"{"data": 7}"#, "data"),
            (#"{"data": {"text": 7}}"#, "data.text"),
            (#"{"data": {"text": "a", "networks": []}}"#, "data.networks"),
            (#"{"data": {"text": "a", "networks": ["orkut"]}}"#, "data.networks"),
            (#"{"data": {"text": "a", "networks": ["vine", "vimeo"]}}"#, "data.networks"),
            (#"{"data": {"text": "a", "networks": ["reddit"]}}"#, "data"),
            (#"{"data": {"location": {"latitude": 91, "longitude": 0}}}"#, "data.location.latitude"),
            (#"{"data": {"favorite": {"network": "facebook", "id": "1"}}}"#, "data.favorite"),
            (#"{"data": {"like": {"network": "facebook", "id": ""}}}"#, "data.like.id"),
            (#"{"data": {"like": {"network": "facebook", "id": "1"}, "text": "too"}}"#, "data"),
            (#"{"data": {"photo": "https://example.com/a.jpg"}}"#, "data.photo"),
            (#"{"data": {"photo": {"uploadId": ""}}}"#, "data.photo.uploadId"),
            (#"{"data": {"text": "a\u0000b"}}"#, "data.text"),
        ]
    )
    func invalidPost(body: String, field: String) async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .reddit)
            fixture.networks[.facebook].behavior.change { $0.supported = [.text, .location, .like] }
            fixture.networks[.reddit].behavior.change { $0.supported = [.feed] }

            let answer = try await fixture.ann.ask(.post, "/feed", body)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == field, "\(answer.text)")
            #expect(fixture.networks.all.allSatisfy { $0.seen.value.isEmpty })
        }
    }

    @Test("A result has the network name that the request used, `vimeo` or `vine`")
    func vimeo() async throws {
        try await withSocial(MemoryNetworks([.vine])) { fixture in
            try await fixture.link(.vine)
            let body = #"{"data": {"text": "six seconds", "networks": ["vimeo", "facebook"]}}"#

            let results = try await fixture.ann.ask(.post, "/feed", body).json["data"]["results"]

            #expect(results["vimeo"]["id"].string == "vine:of six seconds")
            #expect(results["vine"] == .null)
            #expect(results["facebook"]["code"].int == 422)
        }
    }

    @Test("A network that requires media rejects text without media")
    func textNeedsMedia() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .twitter)
            fixture.networks[.facebook].behavior.change { $0.limits = PostLimits(needsMedia: true) }

            let bare = try await fixture.ann.ask(.post, "/feed", #"{"data": {"text": "no picture"}}"#)
            let form = Form(
                data: #"{"text": "a picture"}"#,
                photo: [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 20)
            )
            let pictured = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            #expect(bare.json["data"]["results"]["facebook"]["code"].int == 422)
            #expect(pictured.status == 200, "\(pictured.text)")
            #expect(fixture.networks[.facebook].seen.value.map(\.text) == ["a picture"])
            #expect(fixture.networks[.facebook].seen.value.map(\.photo) == ["image/jpeg 24"])
        }
    }

    @Test("A photo without text is published")
    func photoAlone() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            let form = Form(data: nil, photo: [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 20))

            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            #expect(answer.json["data"]["results"]["facebook"]["parts"]["photo"].int == 200, "\(answer.text)")
            #expect(fixture.networks[.facebook].seen.value.map(\.photo) == ["image/jpeg 24"])
        }
    }

    @Test(
        "A form with invalid data is rejected by field and published nowhere",
        arguments: [
            (#"{"text": "a"}, "meta": {"twitter": {"access_token": "bob"}}"#, "data"), ("", "data"), ("{", "data"),
            (#"{"text": 7}"#, "data.text"), (#"{"text": "\u0000"}"#, "data.text"),
        ]
    )
    func invalidForm(data: String, field: String) async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            let form = Form(data: data, photo: [0xFF, 0xD8, 0xFF, 0xE0])

            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == field, "\(answer.text)")
            #expect(fixture.networks.all.allSatisfy { $0.seen.value.isEmpty })
        }
    }

    @Test(
        "An alternative text that is too long or has a NUL is rejected",
        arguments: ["a\0b", String(repeating: "x", count: 5_001)]
    )
    func altText(alt: String) async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            let form = Form(data: #"{"text": "a"}"#, photo: [0xFF, 0xD8, 0xFF, 0xE0])
            let part = "--xyz\r\nContent-Disposition: form-data; name=\"photoAlt\"\r\n\r\n\(alt)\r\n"

            let answer = try await fixture.ann.ask(.post, "/feed", Array(part.utf8) + form.body, headers: form.headers)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == "photoAlt", "\(answer.text)")
        }
    }

    @Test("A file that is not an image is rejected")
    func notAnImage() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            let form = Form(data: #"{"text": "a picture"}"#, photo: Array("<svg onload=alert(1)>".utf8))

            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            #expect(answer.status == 415, "\(answer.text)")
            #expect(fixture.networks[.facebook].seen.value.isEmpty, "\(answer.text)")
        }
    }

    @Test("A post that one network rejects is published on the other")
    func partialFailure() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .twitter)
            let error = NetworkError(.permission, "posting too fast")
            fixture.networks[.twitter].behavior.change { $0.publishing = .rejects(error) }

            let results = try await fixture.ann.ask(.post, "/feed", #"{"data": {"text": "a"}}"#).json["data"]["results"]

            #expect(results["facebook"]["code"].int == 200)
            #expect(results["twitter"]["code"].int == 403)
            #expect(results["twitter"]["reason"].string == "posting too fast")
        }
    }

    @Test("Liking an item is sent to its network")
    func likes() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .twitter)

            let like = try await fixture.ann.ask(
                .post,
                "/feed",
                #"{"data": {"like": {"network": "facebook", "id": "facebook:1_2"}}}"#
            )
            let favorite = try await fixture.ann.ask(
                .post,
                "/feed",
                #"{"data": {"favorite": {"network": "twitter", "id": "7"}}}"#
            )

            #expect(like.json["data"]["results"]["facebook"]["parts"]["like"].int == 200)
            #expect(favorite.json["data"]["results"]["twitter"]["code"].int == 200)
            #expect(fixture.networks[.facebook].asked.value.contains("like 1_2 ann"))
            #expect(fixture.networks[.twitter].asked.value.contains("like 7 ann"))
        }
    }

    @Test("A reply is sent to its thread, and an invalid one is rejected")
    func reply() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let body = #"{"data": {"network": "twitter", "thread": "1-2", "text": "Hi"}}"#

            let reply = try await fixture.ann.ask(.post, "/messages", body)
            let elsewhere = try await fixture.ann.ask(.post, "/messages", body.replacing("twitter", with: "reddit"))
            let empty = try await fixture.ann.ask(.post, "/messages", body.replacing("Hi", with: ""))
            let notification = try await fixture.ann.ask(.post, "/notifications", #"{"data": {"text": "Hi"}}"#)

            #expect(reply.json["data"]["results"]["twitter"]["parts"]["reply"].int == 200)
            #expect(fixture.networks[.twitter].seen.value.map(\.thread) == ["1-2"])
            #expect(elsewhere.status == 404)
            #expect(empty.status == 400)
            #expect(empty.problem?.field == "data.text")
            #expect(notification.status == 405)
        }
    }
}

extension SocialFixture {
    /// Links accounts named `ann` to Ana.
    func link(_ networks: Network...) async throws {
        for network in networks {
            try await ann.link(network, "ann", network == .mastodon ? #", "instance": "mastodon.example""# : "")
        }
    }
}

/// A form with a file, as browsers send it.
struct Form {
    let headers: HTTPFields = [.contentType: "multipart/form-data; boundary=xyz"]
    let data: String?
    let photo: [UInt8]

    /// The body as bytes, because a photo is not text.
    var body: [UInt8] {
        let field = data.map { "--xyz\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\n\($0)\r\n" } ?? ""
        let head =
            field + "--xyz\r\n"
            + "Content-Disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\n\r\n"
        return Array(head.utf8) + photo + Array("\r\n--xyz--\r\n".utf8)
    }
}

extension TestUser {
    /// Sends a request with a body of bytes.
    func ask(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8],
        headers: HTTPFields
    ) async throws -> TestHTTPResponse {
        var headers = headers
        headers[.authorization] = "Bearer \(token)"
        let request = ServiceRequest(method: method, path: path, headers: headers, body: Data(body))
        return TestHTTPResponse(try await service.transport.send(request))
    }
}
