import Foundation
import NIOCore
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Functions that all connectors share.
@Suite("Parsing and errors of networks") struct NetworkParsingTests {
    @Test(
        "Times in the formats of all networks are read",
        arguments: [
            ("2026-10-14T19:10:26.017Z", 1_792_005_026.017), ("2015-11-02T10:00:00+0000", 1_446_458_400),
            ("2015-11-02T11:30:00+01:30", 1_446_458_400), ("2015-01-10T03:07:38.000000", 1_420_859_258),
            ("Sat Jul 13 02:27:22 +0000 2019", 1_562_984_842), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("2011-02-25 20:27:00 GMT", 1_298_665_620), ("2024-02-29T00:00:00Z", 1_709_164_800),
            ("1970-01-01T00:00:00-0130", 5_400),
        ]
    )
    func times(text: String, seconds: Double) throws {
        let date = try #require(NetworkTime.date(text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_5)
    }

    @Test(
        "A text that is not a time is rejected",
        arguments: [
            "", "yesterday", "2026", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00Zx",
            "x y z a b c",
            "2026-01-01T00:00:00+1", "Sat Foo 13 02:27:22 +0000 2019", String(repeating: "1", count: 50),
        ]
    )
    func invalidTimes(text: String) {
        #expect(NetworkTime.date(text) == nil)
    }

    @Test("Times out of range are rejected", arguments: [1e300, -1e300, .infinity, -.infinity, .nan, 253_402_300_800])
    func implausibleTimes(seconds: Double) throws {
        #expect(NetworkTime.plausible(Date(timeIntervalSince1970: seconds)) == nil)
        #expect(JSONValue.number(seconds).epoch == nil)
        #expect(JSONValue.number(seconds * 1_000).epochMilliseconds == nil)
        let answer: JSONValue = .object(["access_token": .string("a"), "expires_in": .number(seconds)])
        #expect(try NetworkTokens(oauth: answer, now: testNow).expiresAt == nil)
    }

    @Test(
        "HTML is converted to plain text",
        arguments: [
            ("<p>Toot!</p>", "Toot!"), ("<p>a</p><p>b<br>c</p>", "a\n\nb\nc"),
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            (#"<p><span class="h-card"><a href="https://h/@ann">@<span>ann</span></a></span> hi</p>"#, "@ann hi"),
            ("&#8217;&#x1F3B9;&hellip;&unknown;&", "’🎹…&unknown;&"), ("a <b", "a "), ("plain", "plain"),
            ("<ul><li>a</li><li>b</li></ul>", "• a\n• b"), ("&#0;&#xD800;", "&#0;&#xD800;"),
            ("<script>alert(1)</script>", "alert(1)"),
        ]
    )
    func html(html: String, text: String) {
        #expect(
            PlainText.ofHTML(html).trimmingCharacters(in: .whitespaces) == text.trimmingCharacters(in: .whitespaces)
        )
    }

    @Test(
        "A text's length is weighted like Twitter's",
        arguments: [
            ("", 0), ("hello", 5), ("a b", 3), ("see https://example.com/a/very/long/path?with=a&query=too", 4 + 23),
            ("日本", 4), ("👨‍👩‍👧‍👦", 2), ("é", 1), ("a\nb", 3), ("❤️", 2),
        ]
    )
    func weightedLength(text: String, length: Int) {
        #expect(WeightedLength.of(text) == length)
    }

    @Test("Posts and replies that exceed a network's limits are rejected")
    func limits() throws {
        let limits = PostLimits(
            text: 5,
            textUnit: .graphemes,
            photos: 1,
            photoBytes: 3,
            photoTypes: ["image/jpeg"],
            videoTypes: ["video/mp4"],
            reply: 2
        )
        func code(_ post: NetworkPost) -> String? {
            do { try limits.check(post) } catch { return (error as? NetworkError)?.code }
            return nil
        }
        var small = OutgoingMedia.photo
        small.bytes = ByteBuffer(bytes: [1, 2, 3])
        var gif = small
        gif.type = "image/gif"

        #expect(code(.saying("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", photos: [small], video: .video)) == nil)
        #expect(code(.saying("123456")) == "text_too_long")
        #expect(code(.saying("", photos: [small, small])) == "too_many_photos")
        #expect(code(.saying("", photos: [.photo])) == "photo_too_large")
        #expect(code(.saying("", photos: [gif])) == "photo_type")
        #expect(throws: NetworkError.self) { try limits.check(NetworkReply.saying("123", in: "t")) }
        #expect(throws: NetworkError.self) { try PostLimits(needsMedia: true).check(.saying("text")) }
    }

    @Test("An event stream is read in parts of any size, up to a limit")
    func eventStream() throws {
        let text = ":thump\n\nevent: update\r\ndata: {\"a\":\r\ndata: 1}\n\nevent: delete\ndata:7\nid: 9\n\ndata: open"
        for size in [1, 2, 3, 64] {
            var reader = EventStreamReader()
            var events: [EventStreamReader.Event] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                events += try reader.feed(ByteBuffer(bytes: rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(events == [.init(name: "update", data: "{\"a\":\n1}"), .init(name: "delete", data: "7")])
        }
        var reader = EventStreamReader()
        #expect(throws: NetworkError.self) {
            _ = try reader.feed(ByteBuffer(repeating: UInt8(ascii: "a"), count: EventStreamReader.limit + 1))
        }
    }

    @Test("A Link header is read by relation")
    func linkHeader() {
        let link = LinkHeader(
            #"<https://h/api/v1/timelines/home?max_id=11&limit=2>; rel="next", <https://h/x?min_id=13>; rel="prev""#
        )
        #expect(link["next"].flatMap { LinkHeader.value("max_id", in: $0) } == "11")
        #expect(link["prev"].flatMap { LinkHeader.value("min_id", in: $0) } == "13")
        #expect(link["last"] == nil)
        #expect(LinkHeader("nonsense")["next"] == nil)
    }

    /// The reason does not quote the body, which may be a page of HTML.
    @Test(
        "A response without a known error has the class of its status",
        arguments: [
            (401, NetworkError.Class.auth), (403, .permission), (404, .notFound), (410, .notFound), (422, .invalid),
            (501, .unsupported), (302, .transient), (500, .transient), (503, .transient),
        ]
    )
    func statusErrors(status: Int, kind: NetworkError.Class) async {
        let network = RecordedNetwork()
        network.answer("GET https://n/", status, "<html><body>Bad gateway</body></html>")
        network.answer("POST https://n/", status, "<html><body>Bad gateway</body></html>")
        let calls = NetworkCalls(ConnectorParts(network, "https://n"), NetworkErrorMapping())

        let read = await failure { try await calls.json(.get("https://n/")).json }
        let write = await failure(isWrite: true) { try await calls.json(.form("https://n/", [:]), isWrite: true).json }

        #expect(read?.kind == kind)
        #expect(read?.reason == "the network responded with status \(status)")
        #expect(write?.kind == (status == 302 || status >= 500 && status != 501 ? .unknownOutcome : kind))
    }

    /// The network's own error is treated like its status.
    @Test("A transient error of a write that may be visible has an unknown outcome")
    func failedWrite() async {
        let network = RecordedNetwork()
        for method in ["GET", "POST", "POST"] { network.answer("\(method) https://n/", 400, #"{"code":2}"#) }
        let errorMapping = NetworkErrorMapping(mappedError: { _ in MappedError(kind: .transient, reason: "try again") })
        let calls = NetworkCalls(ConnectorParts(network, "https://n"), errorMapping)

        let read = await failure { try await calls.json(.get("https://n/")).json }
        let seen = await failure { try await calls.json(.form("https://n/", [:]), isWrite: true).json }
        let unseen = await failure { try await calls.json(.form("https://n/", [:])).json }

        #expect([read, seen, unseen].map(\.?.kind) == [.transient, .unknownOutcome, .transient])
        #expect(seen?.reason == "try again")
    }

    @Test("`Retry-After` is read as seconds or as a date")
    func retryAfter() async {
        let network = RecordedNetwork()
        network.answer("GET https://n/", 429, "", ["retry-after": "30"])
        network.answer("GET https://n/", 429, "", ["retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"])
        network.answer("GET https://n/", 429)
        let calls = NetworkCalls(ConnectorParts(network, "https://n"), NetworkErrorMapping())

        var untils: [NetworkError.Class?] = []
        for _ in 0..<3 { untils.append(await failure { try await calls.json(.get("https://n/")).json }?.kind) }

        #expect(
            untils == [
                .rateLimited(until: testNow.addingTimeInterval(30)),
                .rateLimited(until: Date(timeIntervalSince1970: 784_111_777)), .rateLimited(until: nil),
            ]
        )
    }

    /// A response that cannot be read does not say what was done.
    @Test("A malformed or missing response to a write has an unknown outcome")
    func malformedResponse() async {
        let network = RecordedNetwork()
        for body in ["", "{\"data\": [", "<html>"] {
            network.answer("GET https://n/", 200, body)
            network.answer("POST https://n/", 200, body)
        }
        network.fail("GET https://n/", .noAnswer("slow"))
        network.fail("POST https://n/", .noAnswer("slow"))
        let calls = NetworkCalls(ConnectorParts(network, "https://n"), NetworkErrorMapping())

        for _ in 0..<4 {
            #expect(await failure { try await calls.json(.get("https://n/")).json }?.kind == .transient)
            let write = await failure { try await calls.json(.form("https://n/", [:]), isWrite: true).json }
            #expect(write?.kind == .unknownOutcome)
        }
        network.fail("POST https://n/", .notSent("no such host"))
        let unsent = await failure { try await calls.json(.form("https://n/", [:]), isWrite: true).json }
        #expect(unsent?.kind == .transient)
    }
}
