import Foundation
import NIOCore
import Testing

@testable import GatewayServer

/// An Engine.IO session lives at one instance, and its requests go only there.
@Suite("Socket sessions") struct SocketSessionTests {
    // MARK: Affinity

    @Test("A session's requests go to its instance")
    func sessionAffinity() async throws {
        let echo = ScriptedService.echo
        try await withGateway(instances: [echo, echo, echo]) { fixture, services async throws in
            for service in services {
                let tag = try EngineIOSession.tag(of: service)
                for request in EngineIOSession.requests(of: tag + "Hc3cm9zc2luZw") {
                    for _ in 0..<3 {
                        let forwarded = fixture.forwarded(try await fixture.perform(request))
                        #expect(forwarded["x-roost-instance"] == [tag])
                        #expect(forwarded["host"] == ["127.0.0.1:\(service.port)"])
                    }
                }
                #expect(service.requests.count == 9)
            }
        }
    }

    /// A gateway needs no state, so another gateway can route the session too.
    @Test("The session id names the instance")
    func sessionTag() throws {
        #expect(SessionID.tag(in: "/socket.io/?EIO=4&sid=abcdef-rest") == "abcdef")
        #expect(SessionID.tag(in: "/socket.io/?sid=abcdef-rest&sid=other-and-more") == "abcdef")
        #expect(SessionID.tag(in: "/socket.io/?EIO=4&transport=polling") == nil)
        #expect(SessionID.tag(in: "/socket.io/?xsid=abcdef-rest&EIO=4") == nil)
        #expect(SessionID.tag(in: "/socket.io/") == nil)
        #expect(SessionID.tag(in: "/conversations?sid=abcdef-rest") == nil)
        #expect(SessionID.tag(in: "/socket.io/more?sid=abcdef-rest") == "abcdef")
        for id in ["", "abcde", "abcdef"] { #expect(SessionID.tag(in: "/socket.io/?sid=\(id)") == "") }
    }

    @Test("A client cannot set the instance field")
    func clientCannotChooseInstance() async throws {
        try await withGateway { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let forwarded = fixture.forwarded(
                try await fixture.get("/conversations", fields: "X-Roost-Instance: evil00\r\n")
            )
            #expect(forwarded["x-roost-instance"] == [tag])
        }
    }

    @Test("An unknown session gets the error of Engine.IO")
    func unknownSession() async throws {
        try await withGateway { fixture in
            for session in ["AAAAAAAAAAAAAAAAAAAA", "", "short", "%41%42CDEFG", "......", "../../etc"] {
                for request in EngineIOSession.requests(of: session) {
                    let response = try await fixture.perform(
                        request.replacing("host: a", with: "host: a\r\norigin: http://b.c")
                    )
                    #expect(response.status == 400)
                    #expect(response.text == #"{"code":1,"message":"Session ID unknown"}"#)
                    #expect(response["content-type"] == ["application/json"])
                    // The browser must be able to read the error to start a new session.
                    #expect(response["access-control-allow-origin"] == ["*"])
                }
            }
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("A session's requests over HTTP/2 go to its instance")
    func affinityOverHTTP2() async throws {
        try await withTLSGateway { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            try await HTTP2Client.open(fixture) { client in
                let poll = try await client.perform("GET /socket.io/?EIO=4&transport=polling&sid=\(tag)abcdef")
                #expect(poll.status == 200)
                #expect(poll.forwarded["x-roost-instance"] == [tag])
                let post = try await client.perform(
                    "POST /socket.io/?EIO=4&transport=polling&sid=\(tag)abcdef",
                    body: Array("40".utf8)
                )
                #expect(post.forwarded.text == "40")
                #expect(try await client.perform("GET /socket.io/?EIO=4&transport=polling&sid=AAAAAAabc").status == 400)
            }
        }
    }

    // MARK: Unavailable instances

    @Test("A session whose instance is down gets a 503, and a new session gets another instance")
    func instanceDown() async throws {
        let down = "http://127.0.0.1:9"
        try await withGateway(settings: { configuration in
            let urls = configuration.services[1].instances.map(\.url) + [down]
            configuration.services[1] = try UpstreamService(
                name: "conversations",
                prefixes: configuration.services[1].prefixes,
                urls: urls
            )
        }) { fixture in
            let tag = try UpstreamInstance(url: down).tag
            // The circuit opens meanwhile, and the response stays the same.
            for _ in 0..<4 {
                for request in EngineIOSession.requests(of: tag + "abcdefg") {
                    let response = try await fixture.perform(request)
                    #expect(response.status == 503)
                    #expect(response["retry-after"].count == 1)
                }
            }
            #expect(fixture.service.requests.isEmpty)
            // A client without a session gets one from the other instance.
            let first = try await fixture.perform("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(first.status == 200)
        }
    }

    /// A repeated poll would end the session, and so would a response of another instance.
    @Test(
        "A failed poll is not retried",
        arguments: ["", "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"]
    )
    func pollsAreNotRetried(_ response: String) async throws {
        let failing: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                if response.isEmpty { return }
                try await connection.send(response)
            }
        }
        try await withGateway(instances: [failing, ScriptedService.echo]) { fixture, services async throws in
            let tag = try EngineIOSession.tag(of: services[0])
            let request = try #require(EngineIOSession.requests(of: tag + "abcdefg").first)
            #expect(try await fixture.perform(request).status == (response.isEmpty ? 502 : 503))
            #expect(services.map(\.requests.count) == [1, 0])
        }
    }

    @Test("An instance that is draining or ejected keeps its sessions")
    func ejectedInstanceKeepsSessions() async throws {
        let echo = ScriptedService.echo
        try await withGateway(instances: [echo, echo]) { fixture, services async throws in
            let tag = try EngineIOSession.tag(of: services[0])
            fixture.gateway.state.clusters[1].instances[0].recordCheck(.notReady, now: .now())
            for request in EngineIOSession.requests(of: tag + "abcdefg") {
                #expect(try await fixture.perform(request).status == 200)
            }
            #expect(services[0].requests.count == 3)
        }
    }

    /// WebSockets are limited by the number of client connections, not by requests.
    @Test("WebSockets leave connections to a service for requests")
    func tunnelsDoNotUseRequestCapacity() async throws {
        let script: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                if request["upgrade"].isEmpty {
                    try await connection.send(ScriptedService.response(""))
                } else {
                    try await connection.send(
                        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
                    )
                    _ = try await connection.rest()
                }
            }
        }
        try await withGateway(settings: { $0.upstreamConnectionLimit = 1 }, script: script) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let upgrade = try #require(EngineIOSession.requests(of: tag + "abcdefg").last)
            try await fixture.connect { one in
                try await one.send(upgrade)
                #expect(try await one.message()?.status == 101)
                try await fixture.connect { another in
                    try await another.send(upgrade)
                    #expect(try await another.message()?.status == 101)
                    #expect(try await fixture.get("/conversations").status == 200)
                }
            }
        }
    }

    @Test("A session's polls are not limited, but count towards the rate")
    func pollRateLimit() async throws {
        try await withGateway(settings: { $0.addressRate = 1 }) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let poll = try #require(EngineIOSession.requests(of: tag + "abcdefg").first)
            var statuses: [Int] = []
            let began = ContinuousClock.now
            try await fixture.connect { connection in
                for _ in 0..<60 {
                    try await connection.send(poll)
                    statuses.append(try #require(try await connection.message()).status)
                }
                #expect(statuses == Array(repeating: 200, count: 60))
                // The polls count: six of the burst of ten are used.
                for _ in 0..<10 {
                    try await connection.send(fixture.signed("GET /conversations"))
                    statuses.append(try #require(try await connection.message()).status)
                }
            }
            // Four are left, and one more a second.
            let most = 5 + Int((ContinuousClock.now - began) / .seconds(1))
            #expect(statuses.dropFirst(60).count { $0 == 200 } <= most)
        }
    }

    @Test("The service of socket.io handles CORS itself")
    func serviceHandlesCORS() async throws {
        let cors =
            "access-control-allow-origin: http://b.c\r\naccess-control-allow-credentials: true\r\nvary: Origin\r\n"
        let script: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                try await connection.send(ScriptedService.response("", fields: cors))
            }
        }
        try await withGateway(script: script) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let preflight =
                "origin: http://b.c\r\naccess-control-request-method: POST\r\n"
                + "access-control-request-headers: x-diuit-session-token\r\n\r\n"
            for request in [
                "OPTIONS /socket.io/?EIO=4 HTTP/1.1\r\nhost: a\r\n" + preflight,
                "GET /socket.io/?EIO=4&sid=\(tag)abcdef HTTP/1.1\r\nhost: a\r\norigin: http://b.c\r\n\r\n",
            ] {
                let response = try await fixture.perform(request)
                #expect(response.status == 200)
                #expect(response["access-control-allow-origin"] == ["http://b.c"])
                #expect(response["access-control-allow-credentials"] == ["true"])
                #expect(response["vary"] == ["Origin"])
            }
            #expect(fixture.service.requests[0]["access-control-request-method"] == ["POST"])
            #expect(fixture.service.requests[0]["access-control-request-headers"] == ["x-diuit-session-token"])

            // On all other routes the gateway handles CORS.
            let other = try await fixture.perform("OPTIONS /conversations HTTP/1.1\r\nhost: a\r\n" + preflight)
            #expect(other["access-control-allow-origin"] == ["*"])
            #expect(fixture.service.requests.count == 2)
        }
    }
}
