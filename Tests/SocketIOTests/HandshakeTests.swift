import NIOCore
import NIOHTTP1
import SocketIO
import Testing

@Suite("Handshake") struct HandshakeTests {
    @Test("The open packet contains the session id, upgrades and limits")
    func openPacket() async throws {
        try await withServer { settings in
            settings.pingInterval = .milliseconds(300)
            settings.pingTimeout = .milliseconds(200)
            settings.sessionTag = { _ in "abc_12" }
        } _: { fixture in
            let rawConnection = try await fixture.connect()
            let answer = try await rawConnection.request("GET", "/socket.io/?EIO=4&transport=polling")
            #expect(answer.status == 200)
            #expect(answer.fields["content-type"] == "text/plain; charset=UTF-8")
            #expect(answer.fields["cache-control"] == "no-store")
            let rest = #"","upgrades":["websocket"],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#
            #expect(answer.body.hasPrefix(#"0{"sid":"abc_12"#))
            #expect(answer.body.hasSuffix(rest))
            #expect(answer.body.utf8.count == #"0{"sid":""#.utf8.count + 26 + rest.utf8.count)

            let socket = try await WebSocket(fixture.connect(), "/socket.io/?EIO=4&transport=websocket")
            #expect(try await socket.text().contains(#","upgrades":[],"#))
        }
    }

    @Test(
        "A rejected handshake has the reference implementation's error code",
        arguments: [
            ("GET", "EIO=4", 400, #"{"code":0,"message":"Transport unknown"}"#),
            ("GET", "EIO=4&transport=abc", 400, #"{"code":0,"message":"Transport unknown"}"#),
            ("GET", "EIO=4&transport=polling&sid=abc", 400, #"{"code":1,"message":"Session ID unknown"}"#),
            ("POST", "EIO=4&transport=polling", 400, #"{"code":2,"message":"Bad handshake method"}"#),
            ("PUT", "EIO=4&transport=polling", 400, #"{"code":2,"message":"Bad handshake method"}"#),
            ("GET", "EIO=4&transport=websocket", 400, #"{"code":3,"message":"Bad request"}"#),
            ("GET", "EIO=4&transport=polling&no=1", 403, #"{"code":4,"message":"Forbidden"}"#),
            ("GET", "transport=polling", 400, #"{"code":5,"message":"Unsupported protocol version"}"#),
            ("GET", "EIO=abc&transport=polling", 400, #"{"code":5,"message":"Unsupported protocol version"}"#),
            ("GET", "EIO=2&transport=polling", 400, #"{"code":5,"message":"Unsupported protocol version"}"#),
        ]
    )
    func errorCodes(method: String, query: String, status: Int, body: String) async throws {
        try await withServer { settings in
            settings.allowRequest = { head, _ in !head.uri.contains("no=1") }
            settings.origins = .any
        } _: { fixture in
            let rawConnection = try await fixture.connect()
            let answer = try await rawConnection.request(
                method,
                "/socket.io/?\(query)",
                ["Origin": "https://a.example"]
            )
            #expect(answer.status == status)
            #expect(answer.body == body)
            #expect(answer.fields["content-type"] == "application/json")
            #expect(answer.fields["access-control-allow-origin"] == "https://a.example")
        }
    }

    @Test(
        "A rejected WebSocket gets a plain text response, and the connection closes",
        arguments: [
            ("EIO=4&transport=websocket&sid=abc", "Session ID unknown"),
            ("EIO=5&transport=websocket", "Unsupported protocol version"),
            ("EIO=4&transport=polling", "Bad request"),
            ("EIO=4", "Transport unknown"),
        ]
    )
    func rejectedWebSocket(query: String, message: String) async throws {
        try await withServer { fixture in
            let rawConnection = try await fixture.connect()
            let answer = try await rawConnection.request("GET", "/socket.io/?\(query)", WebSocket.handshake)
            #expect(answer.status == 400)
            #expect(answer.body == message)
            try await rawConnection.readToEnd()
        }
    }

    @Test("An unsupported WebSocket version gets 426 with the supported version")
    func webSocketVersion() async throws {
        try await withServer { fixture in
            let fields = WebSocket.handshake.merging(["Sec-WebSocket-Version": "8"]) { $1 }
            let answer = try await fixture.connect()
                .request("GET", "/socket.io/?EIO=4&transport=websocket", fields)
            #expect(answer.status == 426)
            #expect(answer.fields["sec-websocket-version"] == "13")
        }
    }

    @Test("The accept hash is the one of the RFC")
    func acceptHash() async throws {
        try await withServer { fixture in
            let answer = try await fixture.connect()
                .request("GET", "/socket.io/?EIO=4&transport=websocket", WebSocket.handshake)
            #expect(answer.status == 101)
            #expect(answer.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        }
    }

    @Test("Responses carry CORS headers for allowed origins, and other origins get 403")
    func crossOrigin() async throws {
        try await withServer { settings in
            settings.origins = .only(["https://a.example"])
            settings.allowsCredentials = true
        } _: { fixture in
            let path = "/socket.io/?EIO=4&transport=polling"
            let allowed = try await fixture.connect().request("GET", path, ["Origin": "https://a.example"])
            #expect(allowed.status == 200)
            #expect(allowed.fields["access-control-allow-origin"] == "https://a.example")
            #expect(allowed.fields["access-control-allow-credentials"] == "true")
            #expect(allowed.fields["vary"] == "Origin")

            let refused = try await fixture.connect().request("GET", path, ["Origin": "https://b.example"])
            #expect(refused.status == 403)
            #expect(refused.fields["access-control-allow-origin"] == nil)

            let asked = ["Origin": "https://a.example", "Access-Control-Request-Headers": "x-one,x-two"]
            let preflight = try await fixture.connect().request("OPTIONS", path, asked)
            #expect(preflight.status == 204)
            #expect(preflight.fields["access-control-allow-methods"] == "GET,HEAD,PUT,PATCH,POST,DELETE")
            #expect(preflight.fields["access-control-allow-headers"] == "x-one,x-two")
        }
    }

    @Test(
        "A page of another host gets no WebSocket",
        arguments: [("https://localhost", true), ("https://other", false)]
    )
    func webSocketOrigin(origin: String, isAllowed: Bool) async throws {
        try await withServer { fixture in
            let fields = WebSocket.handshake.merging(["Origin": origin]) { $1 }
            let answer = try await fixture.connect()
                .request("GET", "/socket.io/?EIO=4&transport=websocket", fields)
            #expect(answer.status == (isAllowed ? 101 : 403))
        }
    }

    @Test("Requests for other paths pass through on the same connection")
    func otherPaths() async throws {
        try await withServer { fixture in
            let rawConnection = try await fixture.connect()
            for path in [
                "/", "/socket.io/?EIO=4&transport=polling", "/socket.iox", "/socket.io?EIO=4&transport=polling",
            ] {
                let answer = try await rawConnection.request("GET", path)
                #expect(answer.status == (path.contains("polling") ? 200 : 404), "\(path)")
            }
        }
    }

    @Test("Pipelined requests get their responses in order")
    func pipelining() async throws {
        try await withServer { fixture in
            let rawConnection = try await fixture.connect()
            try await rawConnection.send(
                "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: a\r\n\r\n"
                    + "GET /b HTTP/1.1\r\nHost: a\r\n\r\nGET /socket.io/?EIO=4 HTTP/1.1\r\nHost: a\r\n\r\n"
            )
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await rawConnection.response().status) }
            #expect(statuses == [404, 200, 404, 400])
        }
    }

    @Test("A connection above the limit gets 503 until another one closes")
    func connectionLimit() async throws {
        try await withServer { settings in
            settings.limits.connections = 1
        } _: { fixture in
            let first = try await fixture.webSocket()
            let path = "/socket.io/?EIO=4&transport=polling"
            #expect(try await fixture.connect().request("GET", path).status == 503)
            try await first.send("1")
            _ = try await first.closeCode()
            #expect(try await fixture.connect().request("GET", path).status == 200)
        }
    }

    @Test("Connections of one client that are not admitted are limited, over polling and over WebSocket")
    func unjoinedLimit() async throws {
        try await withServer { settings in
            settings.limits.unjoinedPerKey = 2
            settings.unjoinedKey = { head, _ in head.headers.first(name: "x-address") }
        } namespaces: { server in
            server.namespace("/").on("enter") { socket, event in
                socket.connection.admit()
                event.acknowledgement?()
            }
        } _: { fixture in
            let path = "/socket.io/?EIO=4&transport=polling"
            func open(_ fields: [String: String]) async throws -> Int {
                try await fixture.connect().request("GET", path, fields).status
            }
            let (ana, bo) = (["X-Address": "a"], ["X-Address": "b"])
            let first = try await fixture.webSocket(ana)
            #expect(try await open(ana) == 200)
            #expect(try await open(ana) == 429)
            let refused = await #expect(throws: WebSocket.Refused.self) { _ = try await fixture.webSocket(ana) }
            #expect(refused?.response.status == 429)
            #expect(try await open(bo) == 200)
            for _ in 0..<3 { #expect(try await open([:]) == 200) }

            // An admitted connection no longer counts, and its end changes no count.
            try await first.send("40")
            _ = try await first.text()
            _ = try await first.text()
            try await first.send(#"420["enter"]"#)
            #expect(try await first.text().hasPrefix("430"))
            let last = try await fixture.webSocket(ana)
            #expect(try await open(ana) == 429)
            try await first.send("1")
            _ = try await first.closeCode()
            #expect(try await open(ana) == 429)
            // A connection that closes before it was admitted releases its share of the limit.
            try await last.send("1")
            _ = try await last.closeCode()
            #expect(try await open(ana) == 200)
        }
    }

    @Test("A connection without a complete request is closed at the timeout")
    func unfinishedRequest() async throws {
        try await withServer { settings in
            settings.limits.requestTimeout = .milliseconds(500)
        } _: { fixture in
            let silent = try await fixture.connect()
            try await silent.readToEnd()
        }
        try await withServer { settings in
            // Long enough for the client's first, complete request.
            settings.limits.requestTimeout = .seconds(5)
        } _: { fixture in
            let slow = try await fixture.connect()
            let open = try await slow.request("GET", "/socket.io/?EIO=4&transport=polling").body
            let id = open.split(separator: "\"")[3]
            try await slow.send(
                "POST /socket.io/?EIO=4&transport=polling&sid=\(id) HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n4"
            )
            #expect(try await slow.response().status == 408)
            try await slow.readToEnd()
        }
    }

    @Test("An idle connection is closed")
    func idleConnection() async throws {
        try await withServer { settings in
            settings.limits.idleTimeout = .milliseconds(500)
        } _: { fixture in
            let rawConnection = try await fixture.connect()
            #expect(try await rawConnection.request("GET", "/socket.io/").status == 400)
            try await rawConnection.readToEnd()
        }
    }

    @Test("A request that is not HTTP gets 400")
    func notHTTP() async throws {
        try await withServer { fixture in
            let rawConnection = try await fixture.connect()
            try await rawConnection.send("this is not HTTP\r\n\r\n")
            #expect(try await rawConnection.response().status == 400)
            try await rawConnection.readToEnd()
        }
    }
}
