import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("Invalid input") struct BadInputTests {
    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    private static let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
    private static let names = (0...1_000).map { "\"u\($0)\"" }.joined(separator: ",")

    static let creating: [BadRequest] = [
        #"{}"#: "label", #"{"label": null}"#: "label", #"{"label": ""}"#: "label", #"{"label": 1}"#: "label",
        #"{"label": "\#(long(256))"}"#: "label", #"{"label": "a\u0000b"}"#: "label", #"{"label": "\ud800"}"#: "label",
        #"{"label": "x", "members": "bo"}"#: "members", #"{"label": "x", "members": [1]}"#: "members[0]",
        #"{"label": "x", "members": [""]}"#: "members[0]",
        #"{"label": "x", "members": ["bo", "\#(long(256))"]}"#: "members[1]",
        #"{"label": "x", "members": [\#(names)]}"#: "members", #"{"label": "x", "whiteList": 5}"#: "whiteList",
        #"{"label": "x", "whiteList": [""]}"#: "whiteList[0]",
        #"{"label": "x", "whiteList": [\#(names)]}"#: "whiteList",
        #"{"label": "x", "meta": []}"#: "meta", #"{"label": "x", "meta": "m"}"#: "meta",
        #"{"label": "x", "meta": \#(deep)}"#: "meta", #"{"label": "x", "type": "direct"}"#: "members",
        #"{"type": "direct", "members": ["ana"]}"#: "members",
        #"{"type": "direct", "members": ["bo", "cat"]}"#: "members",
        #"{"type": "direct", "members": ["bo"], "label": "\#(long(256))"}"#: "label",
        #"{"type": "direct", "members": ["bo"], "whiteList": null}"#: "whiteList",
        #"{"type": "direct", "members": ["bo"], "joinByToken": true}"#: "joinByToken",
        #"{"label": "x", "type": "other"}"#: "type", #"{"label": "x", "type": 1}"#: "type",
        #"{"label": "x", "joinByToken": "yes"}"#: "joinByToken",
    ]
    .map { BadRequest(.post, "/conversations/create", $0.key, 400, $0.value) }

    static let sending: [BadRequest] = [
        #"{}"#: "data", #"{"data": null}"#: "data", #"{"data": ""}"#: "data", #"{"data": {}}"#: "data",
        #"{"data": "a\u0000"}"#: "data", #"{"data": "\udc00x"}"#: "data",
        #"{"data": "x", "mime": ""}"#: "mime", #"{"data": "x", "mime": "text"}"#: "mime",
        #"{"data": "x", "mime": 1}"#: "mime",
        #"{"data": "x", "mime": "text/\#(long(255))"}"#: "mime", #"{"data": "x", "mime": "text/pläin"}"#: "mime",
        #"{"data": "x", "mime": "application/diuit-chat-sys-message"}"#: "mime",
        #"{"data": "x", "mime": "Application/Diuit-Chat-Sys-Message; a=b"}"#: "mime",
        #"{"data": "x", "encoding": "base64"}"#: "data", #"{"data": "x", "encoding": "url"}"#: "encoding",
        #"{"data": "x", "encoding": 8}"#: "encoding", #"{"data": "x", "meta": 7}"#: "meta",
        #"{"data": "x", "meta": {"a": \#(deep)}}"#: "meta",
        #"{"data": "x", "clientMessageId": ""}"#: "clientMessageId",
        #"{"data": "x", "clientMessageId": 1}"#: "clientMessageId",
        #"{"data": "x", "clientMessageId": "\#(long(256))"}"#: "clientMessageId",
        #"{"data": "x", "clientMessageId": "a\u0001"}"#: "clientMessageId",
        #"{"data": "x", "pushMessage": 1}"#: "pushMessage",
        #"{"data": "x", "pushMessage": "\#(long(4_097))"}"#: "pushMessage",
        #"{"data": "x", "pushTitle": "\#(long(256))"}"#: "pushTitle",
        #"{"data": "x", "pushPayload": [1]}"#: "pushPayload",
        #"{"data": "x", "badge": "more"}"#: "badge", #"{"data": "x", "badge": -1}"#: "badge",
        #"{"data": "x", "badge": true}"#: "badge", #"{"data": "x", "badge": 1.5}"#: "badge",
        #"{"data": "x", "badge": {}}"#: "badge",
    ]
    .map { BadRequest(.post, "/conversations/{token}/messages", $0.key, 400, $0.value) }

    static let changing: [BadRequest] = [
        BadRequest(.put, "/conversations/{token}/label", "{}", 400, "label"),
        BadRequest(.put, "/conversations/{token}/label", #"{"label": ""}"#, 400, "label"),
        BadRequest(.put, "/conversations/{token}/label", #"{"label": ["x"]}"#, 400, "label"),
        BadRequest(.put, "/conversations/{token}/meta", "{}", 400, "meta"),
        BadRequest(.put, "/conversations/{token}/meta", #"{"meta": 1}"#, 400, "meta"),
        BadRequest(.put, "/conversations/{token}/meta", #"{"meta": {"a": "\#(long(5_120))"}}"#, 413, "meta"),
        BadRequest(.put, "/conversations/{token}/whiteList", "{}", 400, "whiteList"),
        BadRequest(.put, "/conversations/{token}/whiteList", #"{"whiteList": {}}"#, 400, "whiteList"),
        BadRequest(.put, "/conversations/{token}/whiteList", #"{"whiteList": ["a", 1]}"#, 400, "whiteList[1]"),
        BadRequest(.post, "/conversations/{token}/kick", "{}", 400, "userId"),
        BadRequest(.post, "/conversations/{token}/kick", #"{"userId": ""}"#, 400, "userId"),
        BadRequest(.post, "/conversations/{token}/kick", #"{"userId": 1}"#, 400, "userId"),
        BadRequest(.post, "/conversations/{token}/kick", #"{"userId": "eve"}"#, 404, nil),
        BadRequest(.put, "/conversations/{token}/admins/eve", nil, 404, nil),
        BadRequest(.put, "/conversations/{token}/members/\(long(256))", nil, 400, "userId"),
        BadRequest(.post, "/conversations/{token}/read", "{}", 400, "before"),
        BadRequest(.post, "/conversations/{token}/read", #"{"before": "soon"}"#, 400, "before"),
        BadRequest(.post, "/conversations/{token}/read", #"{"before": 1e300}"#, 400, "before"),
        BadRequest(.post, "/conversations/{token}/messages", #"{"data": "\#(long(65_537))"}"#, 413, "data"),
        BadRequest(
            .post,
            "/conversations/{token}/messages",
            #"{"data": "x", "meta": {"a": "\#(long(5_120))"}}"#,
            413,
            "meta"
        ),
        BadRequest(.post, "/conversations/{token}/messages", "", 400, nil),
        BadRequest(.post, "/conversations/{token}/messages", "{", 400, nil),
        BadRequest(.post, "/conversations/{token}/messages", "[]", 400, nil),
        BadRequest(.post, "/conversations/{token}/messages", "null", 400, nil),
    ]

    /// `{id}` is a message of Ana.
    static let editing: [BadRequest] =
        [
            #"{}"#: "data", #"{"data": null}"#: "data", #"{"data": ""}"#: "data", #"{"data": 1}"#: "data",
            #"{"data": "a\u0000"}"#: "data", #"{"data": "x", "meta": 7}"#: "meta",
            #"{"data": "x", "meta": {"a": \#(deep)}}"#: "meta",
        ]
        .map { BadRequest(.patch, "/conversations/{token}/messages/{id}", $0.key, 400, $0.value) } + [
            BadRequest(.patch, "/conversations/{token}/messages/{id}", #"{"data": "\#(long(65_537))"}"#, 413, "data"),
            BadRequest(
                .patch,
                "/conversations/{token}/messages/{id}",
                #"{"data": "x", "meta": {"a": "\#(long(5_120))"}}"#,
                413,
                "meta"
            ),
            BadRequest(.put, "/blocks/\(long(256))", nil, 400, "userId"),
            BadRequest(.delete, "/blocks/\(long(256))", nil, 400, "userId"),
            BadRequest(.get, "/conversations/search", nil, 400, "q"),
            BadRequest(.get, "/conversations/search?q=", nil, 400, "q"),
            BadRequest(.get, "/conversations/search?q=%21%3F%20", nil, 400, "q"),
            BadRequest(.get, "/conversations/search?q=%00", nil, 400, "q"),
            BadRequest(.get, "/conversations/search?q=\(long(256))", nil, 400, "q"),
            BadRequest(
                .get,
                "/conversations/search?q=\((0...32).map { "w\($0)" }.joined(separator: "+"))",
                nil,
                400,
                "q"
            ),
            BadRequest(.get, "/conversations/search?q=x&limit=0", nil, 400, "limit"),
            BadRequest(.get, "/conversations/search?q=x&cursor=x", nil, 400, "cursor"),
            BadRequest(.put, "/blocks/%00", nil, 404, nil),
            BadRequest(.put, "/blocks/ana", nil, 422, nil),
            BadRequest(.get, "/blocks?limit=0", nil, 400, "limit"),
            BadRequest(.get, "/blocks?cursor=x", nil, 400, "cursor"),
            BadRequest(.put, "/conversations/{token}/messages/{id}/reactions/x", nil, 400, "emoji"),
            BadRequest(.delete, "/conversations/{token}/messages/{id}/reactions/%00", nil, 404, nil),
            BadRequest(.delete, "/conversations/{token}/messages/{id}/reactions/%FF", nil, 404, nil),
        ]

    static let reading: [BadRequest] =
        [
            ("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
        ]
        .map { BadRequest(.get, "/conversations?\($0.0)", nil, 400, $0.1) }
        + [
            ("count=0", "count"), ("count=101", "count"), ("count=1.5", "count"), ("page=-1", "page"),
            ("page=1000001", "page"),
            ("page=99999999999999999999", "page"), ("before=", "before"), ("before=soon", "before"),
            ("before=nan", "before"),
            ("before=1e3", "before"), ("before=99999999999999", "before"), ("before=2026-13-01T00:00:00Z", "before"),
            ("beforeSeq=-1", "beforeSeq"), ("afterSeq=x", "afterSeq"), ("beforeSeq=1&afterSeq=1", "afterSeq"),
            ("beforeSeq=1&before=1", "before"), ("afterSeq=1&page=0", "page"),
        ]
        .map { BadRequest(.get, "/conversations/{token}/messages?\($0.0)", nil, 400, $0.1) }
        + [("", "after"), ("after=", "after"), ("after=-1", "after"), ("after=1&limit=0", "limit")]
        .map { BadRequest(.get, "/conversations/{token}/changes?\($0.0)", nil, 400, $0.1) }

    @Test("A missing, mistyped, too long or malformed field causes an error that names it and changes nothing")
    func invalidField() async throws {
        try await withConversation { fixture in
            let message = try await fixture.ana.send("hello", in: fixture.token)
            let before = try await fixture.ana.conversations.list()
            for bad in Self.creating + Self.sending + Self.changing + Self.editing + Self.reading {
                let path = bad.path.replacingOccurrences(of: "{token}", with: fixture.token)
                    .replacingOccurrences(of: "{id}", with: "\(message.id)")

                let answer = try await fixture.ana.ask(bad.method, path, bad.body)

                #expect(answer.status == bad.status, "\(bad) \(answer.text)")
                #expect(answer.problem?.field == bad.field, "\(bad) \(answer.text)")
                #expect(answer.headers[.contentType] == "application/problem+json", "\(bad)")
            }
            #expect(try await fixture.ana.conversations.list().items == before.items)
        }
    }

    @Test("An unsupported content type responds 415")
    func contentType() async throws {
        try await withConversation { fixture in
            for type in ["application/x-www-form-urlencoded", "multipart/mixed; boundary=x", "nonsense"] {
                let answer = try await fixture.ana.ask(
                    .post,
                    "/conversations/\(fixture.token)/messages",
                    #"{"data": "x"}"#,
                    headers: [.contentType: type]
                )
                #expect(answer.status == 415)
            }
        }
    }

    @Test("A body of 25 MB responds 413")
    func bodySize() async throws {
        try await withConversation { fixture in
            let answer = try await fixture.ana.ask(
                .post,
                "/conversations/\(fixture.token)/messages",
                #"{"data": "\#(Self.long(25_000_000))"}"#
            )
            #expect(answer.status == 413)
        }
    }

    @Test("Values of the maximum length are accepted")
    func maximumLengths() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            let user = String(repeating: "é", count: 255)
            for (method, path, body) in [
                (.post, "\(path)/messages", #"{"data": "\#(Self.long(65_536))"}"#),
                (.put, "\(path)/meta", #"{"meta": {"a": "\#(Self.long(5_120 - 8))"}}"#),
                (.put, "\(path)/label", #"{"label": "\#(String(repeating: "🎈", count: 255))"}"#),
                (.put, "\(path)/whiteList", #"{"whiteList": ["\#(user)"]}"#),
            ] as [(HTTPRequest.Method, String, String)] {
                let answer = try await fixture.ana.ask(method, path, body)
                #expect(answer.status == 200, "\(path) \(answer.text.prefix(200))")
            }
        }
    }
}
