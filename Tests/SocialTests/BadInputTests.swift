import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// What is missing, empty, mistyped, too long or malformed is refused by name, and changes nothing anywhere.
@Suite struct BadInputTests {
    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let linking: [BadRequest] = [
        BadRequest(.put, "/networks/twitter", nil, 400, nil), BadRequest(.put, "/networks/twitter", "[]", 400, nil),
        BadRequest(.put, "/networks/twitter", #"{"access_token": null}"#, 400, "access_token"),
        BadRequest(.put, "/networks/twitter", #"{"access_token": "\#(long(8_193))"}"#, 400, "access_token"),
        BadRequest(.put, "/networks/twitter", #"{"access_token": "a", "refresh_token": "ü"}"#, 400, "refresh_token"),
        BadRequest(.put, "/networks/twitter", #"{"access_token": "a", "expires_in": "soon"}"#, 400, "expires_in"),
        BadRequest(.put, "/networks/mastodon", #"{"access_token": "a", "instance": 7}"#, 400, "instance"),
        BadRequest(.put, "/networks/mastodon", #"{"access_token": "a", "instance": "a b"}"#, 400, "instance"),
        BadRequest(.put, "/networks/mastodon", #"{"access_token": "a", "instance": "\#(long(600))"}"#, 400, "instance"),
        BadRequest(.put, "/networks/facebook", #"{"access_token": "a", "instance": "\#(long(600))"}"#, 400, "instance"),
        BadRequest(.put, "/networks/%00", #"{"access_token": "a"}"#, 404, nil),
        BadRequest(.delete, "/networks/orkut", nil, 404, nil), BadRequest(.delete, "/networks/roost", nil, 422, nil),
        BadRequest(.post, "/networks/twitter/authorize", "{}", 400, "redirectUrl"),
        BadRequest(.post, "/networks/twitter/authorize", #"{"redirectUrl": "https://a.example"}"#, 400, "redirectUrl"),
        BadRequest(.get, "/networks/twitter/callback", nil, 400, "state"),
        BadRequest(.get, "/networks/twitter/callback?state=\(long(5_000))", nil, 400, "state"),
        BadRequest(.post, "/networks/twitter/complete", "{}", 400, "code"),
        BadRequest(.post, "/networks/twitter/complete", #"{"code": "guessed"}"#, 400, "code"),
    ]

    static let reading: [BadRequest] =
        ["/feed", "/messages", "/notifications", "/scroll/feed", "/scroll/messages", "/scroll/notifications"]
        .flatMap { path in
            [
                BadRequest(.get, "\(path)?limit=0", nil, 400, "limit"),
                BadRequest(.get, "\(path)?limit=101", nil, 400, "limit"),
                BadRequest(.get, "\(path)?limit=1e1", nil, 400, "limit"),
                BadRequest(.post, path, #"{"limit": 1.5}"#, 400, "limit"),
                BadRequest(.post, path, #"{"limit": "7"}"#, 400, "limit"),
                BadRequest(.get, "\(path)?cursor=", nil, 400, "cursor"),
                BadRequest(.get, "\(path)?cursor=%00", nil, 400, "cursor"),
                BadRequest(.post, path, #"{"cursor": 7}"#, 400, "cursor"),
                BadRequest(.post, path, #"{"cursor": "\#(long(20_000))"}"#, 400, "cursor"),
                BadRequest(.get, "\(path)?raw=perhaps", nil, 400, "raw"),
                BadRequest(.get, "\(path)?network=orkut", nil, 400, "network"),
                BadRequest(.post, path, "[]", 400, nil), BadRequest(.post, path, "{", 400, nil),
                BadRequest(.post, path, #"{"meta": []}"#, 400, "meta"),
                BadRequest(.post, path, #"{"meta": {"twitter": "a"}}"#, 400, "meta.twitter"),
                BadRequest(
                    .post,
                    path,
                    #"{"meta": {"twitter": {"access_token": "a\u0001"}}}"#,
                    400,
                    "meta.twitter.access_token"
                ),
                BadRequest(
                    .post,
                    path,
                    #"{"meta": {"bluesky": {"access_token": "a", "instance": "127.0.0.1:1"}}}"#,
                    400,
                    "meta.bluesky.instance"
                ),
            ]
        } + [
            BadRequest(.get, "/scroll/messages?thread=1-2", nil, 400, "network"),
            BadRequest(.get, "/scroll/messages?network=twitter&thread=\(long(1_025))", nil, 400, "thread"),
            BadRequest(.post, "/scroll/messages", #"{"network": "twitter", "thread": 7}"#, 400, "thread"),
            BadRequest(.get, "/scroll/messages?network=reddit&thread=1", nil, 404, nil),
        ]

    private static let tomorrow = Timestamp.string(from: Date(timeIntervalSinceNow: 86_400))
    private static let seventeen = Array(repeating: #""twitter""#, count: 17).joined(separator: ",")
    private static let posted: [(data: String, field: String)] = [
        (#"[]"#, "data"), (#""text""#, "data"), (#"{"text": null}"#, "data"), (#"{"text": ["a"]}"#, "data.text"),
        (#"{"text": "\ud800"}"#, "data.text"), (#"{"text": "\#(long(65_537))"}"#, "data.text"),
        (#"{"text": "a", "networks": "twitter"}"#, "data.networks"),
        (#"{"text": "a", "networks": [7]}"#, "data.networks[0]"),
        (#"{"text": "a", "networks": ["twitter", "twitter"]}"#, "data.networks"),
        (#"{"text": "a", "networks": [\#(seventeen)]}"#, "data.networks"),
        (#"{"photo": "a"}"#, "data.photo"), (#"{"photo": {}}"#, "data.photo.uploadId"),
        (#"{"photo": {"uploadId": 7}}"#, "data.photo.uploadId"),
        (#"{"photo": {"uploadId": "\#(long(129))"}}"#, "data.photo.uploadId"),
        (#"{"video": {"uploadId": "u", "alt": "\#(long(5_001))"}}"#, "data.video.alt"),
        (#"{"location": {"latitude": 1}}"#, "data.location.longitude"),
        (#"{"location": {"latitude": "1", "longitude": 1}}"#, "data.location.latitude"),
        (#"{"location": {"latitude": 1, "longitude": -180.01}}"#, "data.location.longitude"),
        (#"{"location": {"latitude": 1, "longitude": 1, "name": "\#(long(1_001))"}}"#, "data.location.name"),
        (#"{"like": {"network": "orkut", "id": "1"}}"#, "data.like.network"),
        (#"{"like": {"network": "twitter"}}"#, "data.like.id"),
        (#"{"like": {"network": "twitter", "id": "\#(long(2_049))"}}"#, "data.like.id"),
        (#"{"like": {"network": "twitter", "id": "1"}, "favorite": {"network": "twitter", "id": "1"}}"#, "data"),
    ]

    static let posting: [BadRequest] =
        posted.map { BadRequest(.post, "/feed", #"{"data": \#($0.data)}"#, 400, $0.field) }
        + posted.filter { !$0.data.contains("like") }.map {
            BadRequest(.post, "/feed/schedule", #"{"at": "\#(tomorrow)", "data": \#($0.data)}"#, 400, $0.field)
        } + [
            BadRequest(.post, "/feed/schedule", nil, 400, "data"),
            BadRequest(.post, "/feed/schedule", #"{"at": "tomorrow", "data": {"text": "a"}}"#, 400, "at"),
            BadRequest(.post, "/feed/schedule", #"{"at": 7, "data": {"text": "a"}}"#, 400, "at"),
            BadRequest(
                .post,
                "/feed/schedule",
                #"{"at": "2999-01-01T00:00:00Z", "data": {"like": {"network": "twitter", "id": "1"}}}"#,
                400,
                "data"
            ),
            BadRequest(.get, "/feed/scheduled?limit=0", nil, 400, "limit"),
            BadRequest(.get, "/feed/scheduled?cursor=x", nil, 400, "cursor"),
            BadRequest(.delete, "/feed/scheduled/x", nil, 404, nil),
            BadRequest(.delete, "/feed/scheduled/%00", nil, 404, nil),
            BadRequest(.delete, "/feed/scheduled/00000000-0000-0000-0000-000000000000", nil, 404, nil),
            BadRequest(.post, "/messages", #"{"data": {}}"#, 400, "data.network"),
            BadRequest(.post, "/messages", #"{"data": {"network": "twitter", "thread": "1"}}"#, 400, "data.text"),
            BadRequest(
                .post,
                "/messages",
                #"{"data": {"network": "twitter", "thread": "", "text": "a"}}"#,
                400,
                "data.thread"
            ),
            BadRequest(
                .post,
                "/messages",
                #"{"data": {"network": "twitter", "thread": "\#(long(1_025))", "text": "a"}}"#,
                400,
                "data.thread"
            ),
            BadRequest(
                .post,
                "/messages",
                #"{"data": {"network": "twitter", "thread": "1", "text": "\#(long(20_001))"}}"#,
                400,
                "data.text"
            ),
            BadRequest(.post, "/notifications", #"{"data": {"text": "a"}}"#, 405, nil),
            BadRequest(.post, "/scroll/notifications", #"{"data": {"text": "a"}}"#, 405, nil),
        ]

    static let others: [BadRequest] = [
        BadRequest(.get, "/webhooks/orkut", nil, 404, nil), BadRequest(.post, "/webhooks/roost", "{}", 404, nil),
        BadRequest(.post, "/webhooks/facebook", "", 403, nil), BadRequest(.get, "/webhooks/facebook", nil, 403, nil),
        BadRequest(.get, "/broadcasts/%00", nil, 404, nil), BadRequest(.get, "/broadcasts/t3_none", nil, 404, nil),
        BadRequest(.post, "/broadcasts/import", nil, 404, nil),
    ]

    @Test func rejected() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let asked = fixture.networks.all.map(\.asked.value.count)
            let before = try await fixture.tables()

            for bad in Self.linking + Self.reading + Self.posting + Self.others {
                let answer = try await fixture.ann.ask(bad.method, bad.path, bad.body)

                #expect(answer.status == bad.status, "\(bad.testDescription) \(answer.text)")
                #expect(answer.problem?.field == bad.field, "\(bad.testDescription) \(answer.text)")
                #expect(answer.headers[.contentType] == "application/problem+json", "\(bad.testDescription)")
            }

            #expect(try await fixture.tables() == before)
            #expect(fixture.networks.all.map(\.asked.value.count) == asked)
        }
    }

    @Test(arguments: ["x", "-1-0", "1", "1-1", "9223372036854775808-0", "1-0-0", "%00"])
    func lastEventID(id: String) async throws {
        try await withSocial { fixture in
            guard let name = HTTPField.Name("Last-Event-ID") else { return }

            let answer = try await fixture.ann.ask(.get, "/stream", headers: [name: id])

            #expect(answer.status == 400 && answer.problem?.field == "Last-Event-ID", "\(answer.text)")
        }
    }

    @Test func limits() async throws {
        try await withSocial { fixture in
            let deep = String(repeating: #"{"a":"#, count: 70) + "1" + String(repeating: "}", count: 70)

            let nested = try await fixture.ann.ask(.post, "/feed", #"{"data": \#(deep)}"#)
            let large = try await fixture.ann.ask(.post, "/feed", #"{"cursor": "\#(Self.long(1_100_000))"}"#)

            #expect(nested.status == 400 && large.status == 413)
        }
    }
}

extension Fixture {
    /// What is in the tables that people's requests write to.
    fileprivate func tables() async throws -> [String] {
        let counted = ["accounts", "authorizations", "posts", "post_media", "publications", "changes", "polled_lists"]
            .map { "SELECT '\($0) ' || count(*) AS row FROM \($0)" }
        return try await rows(counted.joined(separator: " UNION ALL "))
    }
}
