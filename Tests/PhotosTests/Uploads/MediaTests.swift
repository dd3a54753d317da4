import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import TestSupport
import Testing

@Suite("Serving images") struct MediaTests {
    @Test("A byte range gets that part of the image, and an invalid range the whole image")
    func ranges() async throws {
        try await withUploads { fixture async throws in
            let url = try await fixture.ann.uploaded(SampleImage.png(700, 500)).url
            let whole = try await fixture.bob.fetch(url)
            let size = whole.body.count
            #expect(whole.headers[.acceptRanges] == "bytes")
            for (asked, range) in [
                ("bytes=0-9", 0..<10), ("bytes=-7", size - 7..<size), ("bytes=20-", 20..<size),
                ("bytes=5-99999999", 5..<size),
            ] {
                let part = try await fixture.bob.fetch(url, headers: [.range: asked])
                #expect(part.status == 206, "\(asked)")
                #expect(part.body == whole.body[range], "\(asked)")
                #expect(part.headers[.contentRange] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
            }
            let beyond = try await fixture.bob.fetch(url, headers: [.range: "bytes=\(size)-"])
            #expect(beyond.status == 416)
            #expect(beyond.headers[.contentRange] == "bytes */\(size)")
            for asked in ["bytes=0-1,3-4", "lines=0-1", "bytes=9-2"] {
                #expect(try await fixture.bob.fetch(url, headers: [.range: asked]).body == whole.body)
            }
        }
    }

    @Test("A request with the current entity tag responds 304")
    func notModified() async throws {
        try await withUploads { fixture async throws in
            let url = try await fixture.ann.uploaded(SampleImage.png()).url
            let tag = try #require(try await fixture.bob.fetch(url).headers[.eTag])
            for asked in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let response = try await fixture.bob.fetch(url, headers: [.ifNoneMatch: asked])
                #expect(response.status == 304, "\(asked)")
                #expect(response.body.isEmpty)
                #expect(response.headers[.eTag] == tag)
                #expect(response.headers[.cacheControl]?.contains("immutable") == true)
            }
            #expect(try await fixture.bob.fetch(url, headers: [.ifNoneMatch: "\"x\""]).status == 200)
            let other = try await fixture.bob.fetch(url, headers: [.range: "bytes=0-1", .ifRange: "\"x\""])
            #expect(other.status == 200)
        }
    }

    /// The first request goes through the routes, and later ones are served from the cache.
    @Test("A cached response equals a routed one until the image is deleted")
    func cachedResponse() async throws {
        try await withUploads { fixture async throws in
            let path = try #require(URL(string: try await fixture.ann.uploaded(SampleImage.png(700, 500)).url)?.path)
            try await fixture.fixture.service.served { port in
                let server = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
                @Sendable func ask(
                    _ method: HTTPRequest.Method = .get,
                    _ headers: HTTPFields = [:]
                ) async throws -> MediaResponse {
                    // Other tests may occupy all threads for seconds, and the default timeout of 5 s is not tested here.
                    let request = ServiceRequest(method: method, path: path, headers: headers, timeout: .seconds(60))
                    return MediaResponse(try await server.send(request))
                }
                let first = try await ask()
                #expect(first.status == 200)
                #expect(first.body.count > 1_000)
                #expect(try await ask() == first)
                let asked: [HTTPFields] = [
                    [.range: "bytes=3-9"], [.range: "bytes=99999999-"], [.ifNoneMatch: "*"],
                    [.range: "x", .ifRange: "y"],
                ]
                for headers in asked {
                    let routed = try await fixture.bob.fetch("http://x\(path)", headers: headers)
                    #expect(try await ask(.get, headers) == MediaResponse(routed), "\(headers)")
                }
                #expect(try await ask(.head).body.isEmpty)

                try await fixture.run("UPDATE blobs SET due_at = clock_timestamp() + interval '1 hour'")
                try await eventually { try await ask().status == 404 }
            }
        }
    }

    @Test("HEAD gets the header fields of GET without a body")
    func head() async throws {
        try await withUploads { fixture async throws in
            let url = try await fixture.ann.uploaded(SampleImage.png()).url
            let whole = try await fixture.bob.fetch(url)
            let head = try await fixture.bob.fetch(url, .head)
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.headers[.contentLength] == "\(whole.body.count)")
            #expect(head.headers[.contentType] == whole.headers[.contentType])
        }
    }

    @Test("An unknown or malformed key responds 404")
    func unknownKeys() async throws {
        try await withUploads { fixture async throws in
            let url = try await fixture.ann.uploaded(SampleImage.png()).url
            let key = String(url.split(separator: "/").last ?? "")
            #expect(key.utf8.count > 26)
            for wrong in [
                "a", "\(key)0", String(key.dropLast()), key.uppercased(), "\(key.prefix(26))+1",
                "..%2F..%2Fetc%2Fpasswd",
                "aaaaaaaaaaaaaaaaaaaaaaaaaa1", "\(key.prefix(26))01",
            ] {
                #expect(try await fixture.bob.fetch("http://x/media/\(wrong)").status == 404, "\(wrong)")
            }
        }
    }
}

/// A response without the fields that differ each time.
private struct MediaResponse: Equatable {
    let status: Int
    let headers: HTTPFields
    let body: Data

    init(_ response: ServiceResponse) { self.init(response.status, response.headers, response.body) }

    init(_ response: TestHTTPResponse) { self.init(response.status, response.headers, response.body) }

    private init(_ status: Int, _ headers: HTTPFields, _ body: Data) {
        self.status = status
        // The body of an error contains the request id. A response without a body need not have a content length.
        let isError = status >= 400
        let names = ["date", "x-request-id", "traceparent", "connection"] + (status >= 300 ? ["content-length"] : [])
        let fields = headers.filter { !names.contains($0.name.canonicalName) }
        self.headers = HTTPFields(fields.sorted { $0.description < $1.description })
        self.body = isError ? Data() : body
    }
}
