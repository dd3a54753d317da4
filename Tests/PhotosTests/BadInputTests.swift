import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Invalid input") struct BadInputTests {
    private static func long(_ count: Int) -> String { String(repeating: "é", count: count) }
    private static let eleven = (0..<11).map { "\"u\($0)\"" }.joined(separator: ",")

    static let posting: [BadRequest] = [
        #"{}"#: "uploadIds", #"{"uploadIds": null}"#: "uploadIds", #"{"uploadIds": []}"#: "uploadIds",
        #"{"text": " \n"}"#: "uploadIds", #"{"text": "", "uploadIds": []}"#: "uploadIds",
        #"{"uploadIds": "u"}"#: "uploadIds", #"{"uploadIds": [1]}"#: "uploadIds[0]",
        #"{"uploadIds": [""]}"#: "uploadIds[0]", #"{"uploadIds": ["u", "u"]}"#: "uploadIds[1]",
        #"{"uploadIds": [\#(eleven)]}"#: "uploadIds", #"{"uploadIds": ["\#(long(256))"]}"#: "uploadIds[0]",
        #"{"uploadIds": ["u"], "images": [{"uploadId": "u"}]}"#: "images", #"{"images": []}"#: "images",
        #"{"images": [{}]}"#: "images[0].uploadId", #"{"images": ["u"]}"#: "images[0]",
        #"{"images": [{"uploadId": "u"}, {"uploadId": "u"}]}"#: "images[1].uploadId",
        #"{"images": [{"uploadId": "u", "alt": 1}]}"#: "images[0].alt",
        #"{"images": [{"uploadId": "u", "alt": "\#(long(1_501))"}]}"#: "images[0].alt",
        #"{"text": 1, "uploadIds": ["u"]}"#: "text", #"{"text": "\#(long(2_000))", "uploadIds": ["u"]}"#: "text",
        #"{"text": "a\u0000", "uploadIds": ["u"]}"#: "text", #"{"text": "\ud800", "uploadIds": ["u"]}"#: "text",
    ]
    .map { BadRequest(.post, "/photos/posts", $0.key, 400, $0.value) }

    /// `{id}` is a post of Ana with one image, and `{comment}` a comment of Ana on it.
    static let changing: [BadRequest] = [
        BadRequest(.post, "/photos/posts", #"{"uploadIds": ["nowhere"]}"#, 404, nil),
        BadRequest(.post, "/photos/posts", "", 400, nil), BadRequest(.post, "/photos/posts", "[]", 400, nil),
        BadRequest(.post, "/photos/posts", "{", 400, nil),
        BadRequest(.patch, "/photos/posts/{id}", #"{"text": null}"#, 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}", #"{"text": ["x"]}"#, 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}", #"{"text": "\#(long(2_000))"}"#, 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}", #"{"text": "new", "images": []}"#, 400, "images"),
        BadRequest(.patch, "/photos/posts/{id}", #"{"text": "new", "images": [{}, {}]}"#, 400, "images"),
        BadRequest(.patch, "/photos/posts/{id}", #"{"images": [{"alt": 1}]}"#, 400, "images[0].alt"),
        BadRequest(
            .patch,
            "/photos/posts/{id}",
            #"{"text": "new", "images": [{"alt": "\#(long(1_501))"}]}"#,
            400,
            "images[0].alt"
        ),
        BadRequest(.post, "/photos/posts/{id}/comments", "{}", 400, "text"),
        BadRequest(.post, "/photos/posts/{id}/comments", #"{"text": ""}"#, 400, "text"),
        BadRequest(.post, "/photos/posts/{id}/comments", #"{"text": " \n\t"}"#, 400, "text"),
        BadRequest(.post, "/photos/posts/{id}/comments", #"{"text": 5}"#, 400, "text"),
        BadRequest(.post, "/photos/posts/{id}/comments", #"{"text": "\#(long(2_000))"}"#, 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}/comments/{comment}", #"{"text": ""}"#, 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}/comments/{comment}", "{}", 400, "text"),
        BadRequest(.patch, "/photos/posts/{id}/comments/{comment}", #"{"text": "\#(long(2_000))"}"#, 400, "text"),
    ]

    static let reading: [BadRequest] =
        ["/photos/posts", "/photos/hashtags/x", "/photos/people/ann/posts", "/photos/posts/{id}/comments"]
        .flatMap { path in
            [
                BadRequest(.get, "\(path)?limit=0", nil, 400, "limit"),
                BadRequest(.get, "\(path)?limit=101", nil, 400, "limit"),
                BadRequest(.get, "\(path)?limit=x", nil, 400, "limit"),
                BadRequest(.get, "\(path)?cursor=x", nil, 400, "cursor"),
                BadRequest(.get, "\(path)?cursor=", nil, 400, "cursor"),
                BadRequest(.get, "\(path)?cursor=%00", nil, 400, "cursor"),
            ]
        } + [
            BadRequest(.get, "/photos/hashtags", nil, 400, "query"),
            BadRequest(.get, "/photos/hashtags?query=", nil, 400, "query"),
            BadRequest(.get, "/photos/hashtags?query=%23", nil, 400, "query"),
            BadRequest(.get, "/photos/hashtags?query=a%20b", nil, 400, "query"),
            BadRequest(.get, "/photos/hashtags?query=\(long(101))", nil, 400, "query"),
            BadRequest(.get, "/photos/hashtags/%23", nil, 400, "tag"),
            BadRequest(.get, "/photos/hashtags/2026", nil, 400, "tag"),
            BadRequest(.get, "/photos/hashtags/a%2Fb", nil, 400, "tag"),
            BadRequest(.get, "/photos/hashtags/%00", nil, 404, nil),
            BadRequest(.get, "/photos/people/nobody/posts", nil, 404, nil),
            BadRequest(.get, "/photos/people/%00/posts", nil, 404, nil),
        ]

    /// Requests for posts and comments that do not exist.
    static let absent: [BadRequest] =
        ["0-1", "1-0", "1", "-1-1", "+1-1", "1-1-1", "01-1", "9223372036854775808-1", "x", "%00", "%FF", "999999-1"]
        .flatMap { id in
            [
                BadRequest(.get, "/photos/posts/\(id)", nil, 404, nil),
                BadRequest(.put, "/photos/posts/\(id)/like", nil, 404, nil),
            ]
        }
        + ["0", "-1", "01", "x", "999", "9223372036854775808"]
        .map { BadRequest(.delete, "/photos/posts/{id}/comments/\($0)", nil, 404, nil) }

    @Test("A missing, mistyped, too long or malformed field is rejected by name and changes nothing")
    func invalidInput() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("#old", by: fixture.ann)
            let comment = try await fixture.ann.photos.comment("hi", on: post.postId)
            let before = try await fixture.ann.photos.posts().items
            for bad in Self.posting + Self.changing + Self.reading + Self.absent {
                let path = bad.path.replacingOccurrences(of: "{id}", with: post.postId)
                    .replacingOccurrences(of: "{comment}", with: comment.commentId)

                let response = try await fixture.ann.ask(bad.method, path, bad.body)

                #expect(response.status == bad.status, "\(bad.testDescription) \(response.text)")
                #expect(response.problem?.field == bad.field, "\(bad.testDescription) \(response.text)")
                #expect(response.headers[.contentType] == "application/problem+json", "\(bad.testDescription)")
            }
            #expect(try await fixture.ann.photos.posts().items == before)
            #expect(try await fixture.countInconsistencies() == [])
        }
    }

    @Test("Values of the maximum length are accepted")
    func longestInput() async throws {
        try await withPhotos { fixture in
            let text = String(repeating: "🎈", count: 1_999)
            let uploads = try await fixture.uploads(10, of: fixture.ann)
            let alt = Self.long(1_500)
            let post = try await fixture.ann.photos.post(
                PostDraft(text: text, images: uploads.map { ImageDraft(uploadId: $0, alt: alt) })
            )
            #expect(post.images.map(\.alt) == Array(repeating: alt, count: 10))
            #expect(post.text == text)
            #expect(try await fixture.ann.photos.comment(text, on: post.postId).text == text)
        }
    }

    @Test("An unsupported content type responds 415")
    func contentType() async throws {
        try await withPhotos { fixture in
            for type in ["application/x-www-form-urlencoded", "text/plain", "nonsense"] {
                let response = try await fixture.ann.ask(.post, "/photos/posts", "{}", headers: [.contentType: type])
                #expect(response.status == 415)
            }
        }
    }
}
