import CZlib
import NIOCore
import Testing

@testable import GatewayServer

/// Responses are compressed only where that is safe.
@Suite("Compression") struct CompressionTests {
    private static let text = (0..<400).map { "{\"seq\": \($0), \"data\": \"said\"}" }.joined(separator: ",")
    private static let safe = "/conversations/abc/messages"

    /// Responds with a fixed body and these fields.
    private static func service(
        fields: String = "content-type: application/json\r\netag: \"e\"\r\n",
        status: String = "200 OK",
        body: String = text
    ) -> ScriptedService.Script {
        { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                let length = "content-length: \(body.utf8.count)\r\n\r\n"
                try await connection.send("HTTP/1.1 \(status)\r\n\(fields)\(length)")
                if request.method != "HEAD" { try await connection.send(body) }
            }
        }
    }

    private func get(
        _ fixture: GatewayFixture,
        _ target: String = safe,
        accepting: String = "gzip"
    ) async throws -> RawMessage {
        try await fixture.get(target, fields: accepting.isEmpty ? "" : "accept-encoding: \(accepting)\r\n")
    }

    @Test("A response is compressed for a client that accepts gzip")
    func gzipAccepted() async throws {
        try await withGateway(script: Self.service()) { fixture in
            let response = try await get(fixture, accepting: "br, gzip;q=0.8, *;q=0.1")
            #expect(response["content-encoding"] == ["gzip"])
            #expect(response["content-length"].isEmpty)
            #expect(response["vary"] == ["accept-encoding"])
            #expect(response["etag"] == ["W/\"e\""])
            #expect(response.body.count < Self.text.utf8.count / 4)
            #expect(try inflated(response.body) == Self.text)
            // The service receives the client's header unchanged.
            #expect(fixture.service.requests[0]["accept-encoding"] == ["br, gzip;q=0.8, *;q=0.1"])
        }
    }

    @Test("A response is compressed over HTTP/2")
    func compressionOverHTTP2() async throws {
        try await withTLSGateway(script: Self.service()) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let response = try await client.perform("GET \(Self.safe)", fields: [("accept-encoding", "gzip")])
                #expect(response["content-encoding"] == ["gzip"])
                #expect(try inflated(response.body) == Self.text)
            }
        }
    }

    @Test(
        "A response is not compressed for a client that does not accept gzip",
        arguments: ["", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "gzip; q=0.000", "gzipped"]
    )
    func gzipNotAccepted(accepting: String) async throws {
        try await withGateway(script: Self.service()) { fixture async throws in
            let response = try await get(fixture, accepting: accepting)
            #expect(response["content-encoding"].isEmpty)
            #expect(response["vary"] == ["accept-encoding"])
            #expect(response["etag"] == ["\"e\""])
            #expect(response.text == Self.text)
        }
    }

    @Test(
        "Responses that may contain secrets are never compressed",
        arguments: ["/conversations", "/auth/me", "/auth/users", "/conversations/abc", "/media/conversations/k"]
    )
    func secretResponses(target: String) async throws {
        try await withGateway(script: Self.service()) { fixture async throws in
            let response = try await get(fixture, target)
            #expect(response["content-encoding"].isEmpty)
            #expect(response["vary"].isEmpty)
            #expect(response.text == Self.text)
        }
    }

    @Test(
        "Responses of other types or with conflicting fields are not compressed",
        arguments: [
            "content-type: image/png\r\n", "content-type: text/event-stream\r\n", "",
            "content-type: application/json\r\ncontent-encoding: br\r\n",
            "content-type: application/json\r\ncache-control: private, no-transform\r\n",
            "content-type: application/json\r\ncontent-range: bytes 0-9/100\r\n",
            "content-type: application/json\r\nrepr-digest: sha-256=:x:\r\n",
        ]
    )
    func incompressibleResponses(fields: String) async throws {
        try await withGateway(script: Self.service(fields: fields)) { fixture async throws in
            let response = try await get(fixture)
            #expect(response["content-encoding"] != ["gzip"])
            #expect(response.text == Self.text)
        }
    }

    @Test("Small, partial and error responses are not compressed")
    func smallPartialAndErrorResponses() async throws {
        let json = "content-type: application/json\r\n"
        let small = String(Self.text.prefix(1_023))
        for script in [
            Self.service(body: small), Self.service(status: "206 Partial Content"),
            Self.service(fields: json, status: "404 Not Found"),
        ] {
            try await withGateway(script: script) { fixture async throws in
                let response = try await get(fixture)
                #expect(response["content-encoding"].isEmpty)
            }
        }
    }

    @Test("Responses to HEAD and to HTTP/1.0 are not compressed")
    func headAndHTTP10() async throws {
        try await withGateway(script: Self.service()) { fixture async throws in
            let head = try await fixture.perform(
                fixture.signed("HEAD \(Self.safe)", fields: "accept-encoding: gzip\r\n")
            )
            #expect(head["content-length"] == ["\(Self.text.utf8.count)"])
            let old = fixture.signed("GET \(Self.safe)", fields: "accept-encoding: gzip\r\n")
            let response = try await fixture.perform(old.replacing("HTTP/1.1", with: "HTTP/1.0"))
            #expect(response["content-encoding"].isEmpty)
            #expect(response.text == Self.text)
        }
    }

    @Test("A compressed stream arrives piece by piece")
    func streamedCompression() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n"
            )
            // The service sends no more, so the first piece must arrive without the rest.
            _ = try await connection.piece()
        }) { fixture async throws in
            try await fixture.connect { connection async throws in
                try await connection.send(fixture.signed("GET \(Self.safe)", fields: "accept-encoding: gzip\r\n"))
                #expect(try await connection.head()?["content-encoding"] == ["gzip"])
                var forwarded: [UInt8] = []
                while true {
                    forwarded += try #require(try await connection.piece())
                    let body = payload(of: forwarded)
                    if !body.isEmpty, try inflated(body, isWhole: false) == "one" { break }
                }
            }
        }
    }

    /// The content of the complete chunks at the start of `bytes`.
    private func payload(of bytes: [UInt8]) -> [UInt8] {
        var payload: [UInt8] = []
        var rest = bytes[...]
        while let line = rest.firstRange(of: [0x0D, 0x0A]),
            let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16),
            rest[line.upperBound...].count >= size
        {
            payload += rest[line.upperBound...].prefix(size)
            rest = rest[line.upperBound...].dropFirst(size + 2)
        }
        return payload
    }

    @Test("Compression can be turned off")
    func compressionDisabled() async throws {
        try await withGateway(settings: { $0.compressesResponses = false }, script: Self.service()) {
            fixture async throws in
            let response = try await get(fixture)
            #expect(response["content-encoding"].isEmpty)
            #expect(response["vary"].isEmpty)
            let docs = try await get(fixture, "/docs")
            #expect(docs["content-encoding"].isEmpty)
        }
    }

    @Test("The gateway's own pages are compressed and have entity tags")
    func gatewayPages() async throws {
        try await withGateway { fixture async throws in
            for page in ["/docs", "/openapi.yaml"] {
                let plain = try await get(fixture, page, accepting: "")
                #expect(plain["content-encoding"].isEmpty)
                if page == "/openapi.yaml" { continue }
                let packed = try await get(fixture, page)
                #expect(packed["content-encoding"] == ["gzip"])
                #expect(packed["vary"] == ["accept-encoding"])
                #expect(try inflated(packed.body) == plain.text)
                let tag = try #require(packed["etag"].first)
                let known = try await fixture.get(page, fields: "if-none-match: \(tag)\r\n")
                #expect(known.status == 304)
            }
        }
    }

    @Test("The length of a compressed page is random")
    func randomLength() throws {
        let body = ByteBuffer(string: Self.text)
        let lengths = Set((0..<50).compactMap { _ in body.gzipped()?.readableBytes })
        #expect(lengths.count > 5)
    }

    @Test("Deflaters are counted while they live")
    func deflaterCount() throws {
        let activeCount = DeflaterCounter()
        var deflaters = (0..<3).compactMap { _ in Deflater(activeCount: activeCount) }
        #expect(activeCount.count == 3)
        deflaters.removeAll()
        #expect(activeCount.count == 0)
    }

    /// The decompressed text, as far as the bytes go.
    private func inflated(_ bytes: [UInt8], isWhole: Bool = true) throws -> String {
        var stream = z_stream()
        try #require(inflateInit2_(&stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK)
        defer { inflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: 1_000_000)
        let (status, left) = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = uInt(output.count)
                return (inflate(&stream, Z_SYNC_FLUSH), Int(stream.avail_out))
            }
        }
        if isWhole { #expect(status == Z_STREAM_END) }
        return String(decoding: output.prefix(output.count - left), as: UTF8.self)
    }
}
