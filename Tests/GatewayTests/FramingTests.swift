import Testing

@testable import GatewayServer

/// Input that two parties could read in two ways is refused, with a written answer, and never reaches a service.
@Suite struct FramingTests {
    private static let fields = "host: a\r\n"

    /// What is sent, and the answer it must have; the connection is closed after it.
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

    @Test func whatCouldBeReadInTwoWaysIsRefused() async throws {
        try await withGateway { scene in
            for (request, status) in Self.refused {
                // A second request rides behind: it must not be taken for one of its own.
                let hidden = "GET /media/conversations/hidden HTTP/1.1\r\nhost: a\r\n\r\n"
                try await scene.connect { connection in
                    try await connection.send(request + hidden)
                    let answer = try #require(
                        try await connection.message(),
                        "no answer to \(request.debugDescription)"
                    )
                    #expect(answer.status == status, "\(request.debugDescription)")
                    #expect(answer["content-type"] == ["application/problem+json"])
                    #expect(answer.code != nil)
                    let rest = try await connection.rest()
                    #expect(rest == "", "\(request.debugDescription)")
                }
            }
            #expect(scene.service.requests.allSatisfy { !$0.target.contains("hidden") })
        }
    }

    @Test func aBareResponseSmuggledInABodyStaysInIt() async throws {
        try await withGateway { scene in
            let inner = "GET /internal/revocations HTTP/1.1\r\nhost: a\r\n\r\n"
            let request = scene.signed(
                "POST /conversations/create",
                fields: "content-length: \(inner.utf8.count)\r\n",
                body: inner
            )
            let seen = scene.seen(try await scene.ask(request))
            #expect(seen.text == inner)
            #expect(scene.service.requests.count == 1)
        }
    }

    @Test func chunksAndTrailersGoOn() async throws {
        try await withGateway { scene in
            let request =
                scene.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\ntrailer: x-sum\r\n")
                + "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nx-sum: 11\r\nx-user-id: eve\r\nhost: evil\r\n\r\n"
            _ = try await scene.ask(request)
            let seen = try #require(scene.service.requests.first)
            #expect(seen.text == "hello world")
            #expect(seen["transfer-encoding"] == ["chunked"])
            #expect(seen["content-length"].isEmpty)
            #expect(seen.trailers.map(\.name) == ["x-sum"])
        }
    }

    @Test func aBodyOfAGetGoesOn() async throws {
        try await withGateway { scene async throws in
            let request = scene.signed("GET /conversations", fields: "content-length: 3\r\n", body: "abc")
            #expect(scene.seen(try await scene.ask(request)).text == "abc")
        }
    }

    @Test(arguments: [
        ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", 200, "1000"),
        ("HEAD", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", 200, nil),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, nil),
        ("GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\netag: \"a\"\r\n\r\n", 304, nil),
        ("GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, "0"),
    ])
    func anAnswerWithoutABodyEndsWithItsHead(method: String, wire: String, status: Int, length: String?) async throws {
        try await withGateway(script: { connection, _ in
            while try await connection.message() != nil { try await connection.send(wire) }
        }) { scene in
            try await scene.connect { connection in
                // Twice on one connection: bytes too many or too few would spoil the second answer.
                for _ in 0..<2 {
                    try await connection.send(scene.signed("\(method) /conversations"))
                    let answer = try #require(try await connection.message(toHead: method == "HEAD"))
                    #expect(answer.status == status)
                    #expect(answer["content-length"].first == length)
                    #expect(answer["transfer-encoding"].isEmpty)
                }
            }
        }
    }

    @Test func anAnswerWithoutALengthIsChunkedForNewClientsAndClosedForOld() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\n\r\nuntil the end")
            connection.finishSending()
            _ = try await connection.rest()
        }) { scene in
            let new = try await scene.get("/conversations")
            #expect(new["transfer-encoding"] == ["chunked"])
            #expect(new.text == "until the end")
            let old = try await scene.ask("GET /media/conversations/k HTTP/1.0\r\nhost: a\r\n\r\n")
            #expect(old["transfer-encoding"].isEmpty)
            #expect(old["connection"] == ["close"])
            #expect(old.text == "until the end")
        }
    }

    @Test func trailersAndRepeatedFieldsOfAnAnswerArePassedOn() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ntransfer-encoding: chunked\r\n"
                    + "connection: x-mine\r\nx-mine: 1\r\nkeep-alive: timeout=5\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 3\r\n\r\n"
            )
            _ = try await connection.rest()
        }) { scene in
            let answer = try await scene.get("/conversations")
            #expect(answer["set-cookie"] == ["a=1", "b=2"])
            #expect(answer["x-mine"].isEmpty)
            #expect(answer["keep-alive"].isEmpty)
            #expect(answer.text == "abc")
            #expect(answer.trailers.map(\.name) == ["x-sum"])
        }
    }

    @Test func aClientThatWaitsFor100IsToldToGoOn() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                let fields = "content-length: 5\r\nexpect: 100-continue\r\n"
                try await connection.send(scene.signed("POST /conversations/create", fields: fields))
                #expect(try await connection.message()?.status == 100)
                try await connection.send("hello")
                let seen = scene.seen(try #require(try await connection.message()))
                #expect(seen.text == "hello")
                #expect(seen["expect"].isEmpty)
            }
        }
    }

    @Test func aClientThatWaitsFor100InVainIsAnsweredAndLetGo() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                try await connection.send(
                    "POST /conversations/create HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"
                )
                let answer = try #require(try await connection.message())
                #expect(answer.status == 403)
                #expect(answer["connection"] == ["close"])
                #expect(try await connection.rest() == "")
            }
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func curlThatOffersHTTP2IsAnsweredInHTTP1() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                let upgrade = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n"
                try await connection.send(
                    scene.signed("GET /conversations?n=1", fields: upgrade) + scene.signed("GET /conversations?n=2")
                )
                for number in 1...2 {
                    let seen = scene.seen(try #require(try await connection.message()))
                    #expect(seen.target == "/conversations?n=\(number)")
                    #expect(seen["upgrade"].isEmpty && seen["http2-settings"].isEmpty && seen["connection"].isEmpty)
                }
            }
        }
    }

    @Test func aClientThatDoesNotKeepItsConnectionIsLetGo() async throws {
        try await withGateway { scene in
            for (version, field) in [("1.1", "connection: close\r\n"), ("1.0", "")] {
                try await scene.connect { connection in
                    try await connection.send("GET /media/conversations/k HTTP/\(version)\r\nhost: a\r\n\(field)\r\n")
                    let answer = try #require(try await connection.message())
                    #expect(answer["connection"] == ["close"])
                    #expect(try await connection.rest() == "")
                }
            }
            try await scene.connect { connection in
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
