import Testing

@testable import GatewayServer

/// Input that two parties could read differently is refused with a response, and never reaches a service.
@Suite("Framing") struct FramingTests {
    private static let fields = "host: a\r\n"

    /// A request, and the status that it must get before the connection is closed.
    private static let refused: [(String, Int)] = [
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 5\r\ncontent-length: 6\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 5\r\ncontent-length: 5\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: +5\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 5, 5\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 0x5\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: 99999999999999999999\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length: -1\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)content-length :5\r\n\r\nhello", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        (
            "POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("POST /auth/login HTTP/1.0\r\n\(fields)transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked\r\n\r\nZZ\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked\r\n\r\n5\r\nhelloX", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)transfer-encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\n\(fields)\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)x: y\r\n folded\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)x y: z\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)x: a\0b\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields): empty\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost: a, b\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost: a/b\r\n\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\nhost:\r\n\r\n", 400),
        ("POST http://internal/auth/login HTTP/1.1\r\n\(fields)\r\n", 400),
        ("POST auth/login HTTP/1.1\r\n\(fields)\r\n", 400),
        ("POST //auth/login HTTP/1.1\r\n\(fields)\r\n", 400),
        ("POST /auth/login#x HTTP/1.1\r\n\(fields)\r\n", 400),
        ("POST /auth/lögin HTTP/1.1\r\n\(fields)\r\n", 400),
        ("POST /auth/login HTTP/2.0\r\n\(fields)\r\n", 400),
        ("POST /auth/login HTTP/1.1\r\n\(fields)expect: miracles\r\n\r\n", 400),
        ("GARBAGE\r\n\r\n", 400),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}", 400),
        ("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", 405),
    ]

    @Test("Ambiguous framing is refused, and the connection closed")
    func ambiguousFraming() async throws {
        try await withGateway { fixture in
            for (request, status) in Self.refused {
                // A second request follows, which must not be executed.
                let hidden = "GET /media/conversations/hidden HTTP/1.1\r\nhost: a\r\n\r\n"
                try await fixture.connect { connection in
                    try await connection.send(request + hidden)
                    let response = try #require(
                        try await connection.message(),
                        "no answer to \(request.debugDescription)"
                    )
                    #expect(response.status == status, "\(request.debugDescription)")
                    #expect(response["content-type"] == ["application/problem+json"])
                    #expect(response.code != nil)
                    let rest = try await connection.rest()
                    #expect(rest == "", "\(request.debugDescription)")
                }
            }
            #expect(fixture.service.requests.allSatisfy { !$0.target.contains("hidden") })
        }
    }

    @Test("A request in a body is only a body")
    func responseSmuggling() async throws {
        try await withGateway { fixture in
            let inner = "GET /internal/revocations HTTP/1.1\r\nhost: a\r\n\r\n"
            let request = fixture.signed(
                "POST /conversations/create",
                fields: "content-length: \(inner.utf8.count)\r\n",
                body: inner
            )
            let forwarded = fixture.forwarded(try await fixture.perform(request))
            #expect(forwarded.text == inner)
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("Chunks and allowed trailers are forwarded")
    func chunksAndTrailers() async throws {
        try await withGateway { fixture in
            let request =
                fixture.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\ntrailer: x-sum\r\n")
                + "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nx-sum: 11\r\nx-user-id: eve\r\nhost: evil\r\n\r\n"
            _ = try await fixture.perform(request)
            let forwarded = try #require(fixture.service.requests.first)
            #expect(forwarded.text == "hello world")
            #expect(forwarded["transfer-encoding"] == ["chunked"])
            #expect(forwarded["content-length"].isEmpty)
            #expect(forwarded.trailers.map(\.name) == ["x-sum"])
        }
    }

    @Test("A GET with a body is forwarded with the body")
    func getWithBody() async throws {
        try await withGateway { fixture async throws in
            let request = fixture.signed("GET /conversations", fields: "content-length: 3\r\n", body: "abc")
            #expect(fixture.forwarded(try await fixture.perform(request)).text == "abc")
        }
    }

    @Test(
        "A response without a body keeps the connection usable",
        arguments: [
            ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", 200, "1000"),
            ("HEAD", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", 200, nil),
            ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, nil),
            ("GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\netag: \"a\"\r\n\r\n", 304, nil),
            ("GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, "0"),
        ]
    )
    func bodylessResponse(method: String, wire: String, status: Int, length: String?) async throws {
        try await withGateway(script: { connection, _ in
            while try await connection.message() != nil { try await connection.send(wire) }
        }) { fixture in
            try await fixture.connect { connection in
                // Twice on one connection, because a wrong number of bytes would corrupt the second response.
                for _ in 0..<2 {
                    try await connection.send(fixture.signed("\(method) /conversations"))
                    let response = try #require(try await connection.message(toHead: method == "HEAD"))
                    #expect(response.status == status)
                    #expect(response["content-length"].first == length)
                    #expect(response["transfer-encoding"].isEmpty)
                }
            }
        }
    }

    @Test("A response of unknown length is chunked, or ends with the connection in HTTP/1.0")
    func unknownLength() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\n\r\nuntil the end")
            connection.finishSending()
            _ = try await connection.rest()
        }) { fixture in
            let new = try await fixture.get("/conversations")
            #expect(new["transfer-encoding"] == ["chunked"])
            #expect(new.text == "until the end")
            let old = try await fixture.perform("GET /media/conversations/k HTTP/1.0\r\nhost: a\r\n\r\n")
            #expect(old["transfer-encoding"].isEmpty)
            #expect(old["connection"] == ["close"])
            #expect(old.text == "until the end")
        }
    }

    @Test("Cookies and trailers are forwarded, connection fields are not")
    func responseTrailers() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ntransfer-encoding: chunked\r\n"
                    + "connection: x-mine\r\nx-mine: 1\r\nkeep-alive: timeout=5\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 3\r\n\r\n"
            )
            _ = try await connection.rest()
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response["set-cookie"] == ["a=1", "b=2"])
            #expect(response["x-mine"].isEmpty)
            #expect(response["keep-alive"].isEmpty)
            #expect(response.text == "abc")
            #expect(response.trailers.map(\.name) == ["x-sum"])
        }
    }

    @Test("The gateway answers 100 Continue itself")
    func expectContinue() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                let fields = "content-length: 5\r\nexpect: 100-continue\r\n"
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields))
                #expect(try await connection.message()?.status == 100)
                try await connection.send("hello")
                let forwarded = fixture.forwarded(try #require(try await connection.message()))
                #expect(forwarded.text == "hello")
                #expect(forwarded["expect"].isEmpty)
            }
        }
    }

    @Test("A refused request gets no 100 Continue, and the connection closes")
    func expectContinueRefused() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                try await connection.send(
                    "POST /conversations/create HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"
                )
                let response = try #require(try await connection.message())
                #expect(response.status == 403)
                #expect(response["connection"] == ["close"])
                #expect(try await connection.rest() == "")
            }
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("An upgrade to h2c is ignored")
    func cleartextHTTP2Upgrade() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                let upgrade = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n"
                try await connection.send(
                    fixture.signed("GET /conversations?n=1", fields: upgrade) + fixture.signed("GET /conversations?n=2")
                )
                for number in 1...2 {
                    let forwarded = fixture.forwarded(try #require(try await connection.message()))
                    #expect(forwarded.target == "/conversations?n=\(number)")
                    #expect(forwarded["upgrade"].isEmpty)
                    #expect(forwarded["http2-settings"].isEmpty)
                    #expect(forwarded["connection"].isEmpty)
                }
            }
        }
    }

    @Test("The connection closes or stays open as the client asks")
    func connectionClose() async throws {
        try await withGateway { fixture in
            for (version, field) in [("1.1", "connection: close\r\n"), ("1.0", "")] {
                try await fixture.connect { connection in
                    try await connection.send("GET /media/conversations/k HTTP/\(version)\r\nhost: a\r\n\(field)\r\n")
                    let response = try #require(try await connection.message())
                    #expect(response["connection"] == ["close"])
                    #expect(try await connection.rest() == "")
                }
            }
            try await fixture.connect { connection in
                for _ in 0..<2 {
                    try await connection.send(
                        "GET /media/conversations/k HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n"
                    )
                    #expect(try await connection.message()?["connection"] == ["keep-alive"])
                }
            }
        }
    }
}
