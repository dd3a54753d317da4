import NIOCore
import Testing

@testable import GatewayServer

@Suite("Streaming") struct StreamingTests {
    @Test("A large body is forwarded unchanged")
    func largeBody() async throws {
        let body = Pattern.bytes(atLeast: 3_000_000)
        try await withGateway(script: { connection, _ in
            while let request = try await connection.message() {
                try await connection.send(ScriptedService.response(request.body == body ? "the same" : "another"))
            }
        }) { fixture in
            try await fixture.connect { connection in
                let fields = "content-length: \(body.count)\r\n"
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields))
                try await connection.send(body)
                #expect(try await connection.message()?.text == "the same")
                let chunked = "transfer-encoding: chunked\r\n"
                try await connection.send(fixture.signed("POST /conversations/create", fields: chunked))
                try await connection.send(chunks: body, of: 70_001)
                #expect(try await connection.message()?.text == "the same")
            }
        }
    }

    @Test("A large response is forwarded unchanged", arguments: [true, false])
    func largeResponse(isChunked: Bool) async throws {
        let body = Pattern.bytes(atLeast: 3_000_000)
        try await withGateway(script: { connection, _ in
            while try await connection.message() != nil {
                let framing = isChunked ? "transfer-encoding: chunked" : "content-length: \(body.count)"
                try await connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
                if isChunked {
                    try await connection.send(chunks: body, of: 33_333)
                } else {
                    try await connection.send(body)
                }
            }
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response.body == body)
        }
    }

    @Test("A streamed response arrives piece by piece")
    func streamedResponse() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
            // The service sends no more, so the first piece must arrive without the rest.
            _ = try await connection.piece()
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.head()?.status == 200)
                var forwarded: [UInt8] = []
                while !String(decoding: forwarded, as: UTF8.self).contains("one") {
                    forwarded += try #require(try await connection.piece())
                }
            }
        }
    }

    @Test("A service that does not read stops the client, and the gateway buffers little")
    func requestBackpressure() async throws {
        try await withGateway(
            settings: { $0.receiveBuffer = 65_536 },
            script: { connection, service in
                try await connection.shrinkReceiveBuffer()
                _ = try await connection.head()
                service.record(RawMessage(parsing: "stuck"))
                // Until the test ends.
                try await Task.sleep(for: .seconds(60))
            }
        ) { fixture in
            try await fixture.connect { connection in
                let fields = "content-length: 20000000\r\n"
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields))
                try await eventually { fixture.service.requests.count == 1 }
                let sent = try await connection.sendUntilStuck(Array(repeating: 0x78, count: 65_536), most: 20_000_000)
                // The kernel's buffers of two connections take some megabytes, the gateway almost nothing.
                #expect(sent < 12_000_000)
            }
        }
    }

    @Test("A client that does not read stops the service, and the gateway buffers little")
    func responseBackpressure() async throws {
        try await withGateway(
            settings: { $0.receiveBuffer = 65_536 },
            script: { connection, service in
                _ = try await connection.message()
                try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n")
                let piece = Array(repeating: UInt8(0x78), count: 65_536)
                service.record(bytes: try await connection.sendUntilStuck(piece, most: 20_000_000))
            }
        ) { fixture in
            try await RawConnection.openUnread(port: fixture.port, sending: fixture.signed("GET /conversations")) {
                try await eventually { fixture.service.received > 0 }
            }
            #expect(fixture.service.received < 12_000_000)
        }
    }

    @Test("Pipelined requests wait until the responses before them are read")
    func unreadPipelinedResponses() async throws {
        let page = try OpenAPIDocument.embedded().text + String(repeating: "\n# padding", count: 10_000)
        try await withGateway(document: page) { fixture in
            let pages = String(repeating: "GET /openapi.yaml HTTP/1.1\r\nhost: a\r\n\r\n", count: 500)
            let last = "POST /auth/login HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"
            try await fixture.connect { connection in
                try await connection.send(pages + last)
                // Other clients are served meanwhile, so the first client's requests have had time as well.
                for _ in 0..<20 { #expect(try await fixture.get("/auth/me").status == 200) }
                #expect(fixture.service.requests.allSatisfy { $0.method == "GET" })
                for _ in 0..<500 { #expect(try await connection.message()?.status == 200) }
                #expect(try await connection.message()?.status == 200)
                #expect(fixture.service.requests.count { $0.method == "POST" } == 1)
            }
        }
    }

    @Test("A response before the end of the body closes the connections")
    func earlyResponse() async throws {
        try await withGateway(script: { connection, service in
            while let request = try await connection.head() {
                service.record(request)
                try await connection.send(ScriptedService.response("no", status: "413 Content Too Large"))
                _ = try await connection.rest()
            }
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send(
                    fixture.signed("POST /conversations/create", fields: "content-length: 20000000\r\n", body: "begin")
                )
                let response = try #require(try await connection.message())
                #expect(response.status == 413)
                #expect(response.text == "no")
                #expect(response["connection"] == ["close"])
            }
            // The connection to the service is not reused.
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 413)
            }
            #expect(fixture.service.connections == 2)
        }
    }

    @Test("A client that disconnects ends the request to the service")
    func disconnectCancelsRequest() async throws {
        try await withGateway(script: { connection, service in
            service.record(try #require(try await connection.message()))
            _ = try await connection.rest()
            service.record(bytes: 1)
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                try await eventually { fixture.service.requests.count == 1 }
            }
            try await eventually { fixture.service.received == 1 }
        }
    }

    @Test(
        "A response that the service breaks off ends without its last chunk",
        arguments: ["content-length: 100\r\n\r\nabc", "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"]
    )
    func brokenResponse(wire: String) async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\n\(wire)")
            try await connection.close()
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.head()?.status == 200)
                let rest = try await connection.rest()
                #expect(rest.contains("abc"))
                #expect(!rest.contains("0\r\n\r\n"))
            }
        }
    }

    @Test("A response that is not HTTP is a 502")
    func notHTTP() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("SMTP ready\r\n\r\n")
            _ = try await connection.rest()
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response.status == 502)
            #expect(response.code == "bad_gateway")
        }
    }
}
