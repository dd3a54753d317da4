import Foundation
import NIOCore
import Testing

@testable import GatewayServer

/// Engine.IO sessions live at one instance; whatever names one goes there, and nowhere else.
@Suite struct SocketSessionTests {
    // MARK: The way

    @Test func whateverNamesASessionGoesToItsInstance() async throws {
        let echo = ScriptedService.echo
        try await withGateway(instances: [echo, echo, echo]) { scene, services async throws in
            for service in services {
                let tag = try EngineSession.tag(of: service)
                for request in EngineSession.requests(of: tag + "Hc3cm9zc2luZw") {
                    for _ in 0..<3 {
                        let seen = scene.seen(try await scene.ask(request))
                        #expect(seen["x-roost-instance"] == [tag])
                        #expect(seen["host"] == ["127.0.0.1:\(service.port)"])
                    }
                }
                #expect(service.requests.count == 9)
            }
        }
    }

    /// Even a second gateway knows, which has never heard of the session.
    @Test func theFirstSixCharactersSayWhere() throws {
        #expect(SessionID.tag(in: "/socket.io/?EIO=4&sid=abcdef-rest") == "abcdef")
        #expect(SessionID.tag(in: "/socket.io/?sid=abcdef-rest&sid=other-and-more") == "abcdef")
        #expect(SessionID.tag(in: "/socket.io/?EIO=4&transport=polling") == nil)
        #expect(SessionID.tag(in: "/socket.io/?xsid=abcdef-rest&EIO=4") == nil)
        #expect(SessionID.tag(in: "/socket.io/") == nil)
        #expect(SessionID.tag(in: "/conversations?sid=abcdef-rest") == nil)
        #expect(SessionID.tag(in: "/socket.io/more?sid=abcdef-rest") == "abcdef")
        for id in ["", "abcde", "abcdef"] { #expect(SessionID.tag(in: "/socket.io/?sid=\(id)") == "") }
    }

    @Test func aClientNamesNoInstanceHimself() async throws {
        try await withGateway { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let seen = scene.seen(try await scene.get("/conversations", fields: "X-Roost-Instance: evil00\r\n"))
            #expect(seen["x-roost-instance"] == [tag])
        }
    }

    @Test func aSessionOfNoInstanceIsUnknownInEngineIOsWords() async throws {
        try await withGateway { scene in
            for session in ["AAAAAAAAAAAAAAAAAAAA", "", "short", "%41%42CDEFG", "......", "../../etc"] {
                for request in EngineSession.requests(of: session) {
                    let answer = try await scene.ask(
                        request.replacing("host: a", with: "host: a\r\norigin: http://b.c")
                    )
                    #expect(answer.status == 400)
                    #expect(answer.text == #"{"code":1,"message":"Session ID unknown"}"#)
                    #expect(answer["content-type"] == ["application/json"])
                    // A page must be able to read it, to begin anew.
                    #expect(answer["access-control-allow-origin"] == ["*"])
                }
            }
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func overHTTP2TheWayIsTheSame() async throws {
        try await withSecureGateway { scene in
            let tag = try EngineSession.tag(of: scene.service)
            try await HTTP2Client.open(scene) { client in
                let poll = try await client.ask("GET /socket.io/?EIO=4&transport=polling&sid=\(tag)abcdef")
                #expect(poll.status == 200)
                #expect(poll.seen["x-roost-instance"] == [tag])
                let post = try await client.ask(
                    "POST /socket.io/?EIO=4&transport=polling&sid=\(tag)abcdef",
                    body: Array("40".utf8)
                )
                #expect(post.seen.text == "40")
                #expect(try await client.ask("GET /socket.io/?EIO=4&transport=polling&sid=AAAAAAabc").status == 400)
            }
        }
    }

    // MARK: No other instance

    @Test func whereTheInstanceIsDownNoOtherIsAsked() async throws {
        let down = "http://127.0.0.1:9"
        try await withGateway(settings: { configuration in
            let urls = configuration.services[1].instances.map(\.url) + [down]
            configuration.services[1] = try UpstreamService(
                name: "conversations",
                prefixes: configuration.services[1].prefixes,
                urls: urls
            )
        }) { scene in
            let tag = try UpstreamInstance(url: down).tag
            // The circuit opens in between, which makes no difference to be seen.
            for _ in 0..<4 {
                for request in EngineSession.requests(of: tag + "abcdefg") {
                    let answer = try await scene.ask(request)
                    #expect(answer.status == 503)
                    #expect(answer["retry-after"].count == 1)
                }
            }
            #expect(scene.service.requests.isEmpty)
            // Who has no session yet gets one from the other.
            let first = try await scene.ask("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(first.status == 200)
        }
    }

    /// A poll asked for twice ends its session; so does one that another instance answers.
    @Test(arguments: ["", "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"])
    func whatComesToNothingIsNotAskedAgain(_ answer: String) async throws {
        let rude: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                if answer.isEmpty { return }
                try await connection.send(answer)
            }
        }
        try await withGateway(instances: [rude, ScriptedService.echo]) { scene, services async throws in
            let tag = try EngineSession.tag(of: services[0])
            let request = try #require(EngineSession.requests(of: tag + "abcdefg").first)
            #expect(try await scene.ask(request).status == (answer.isEmpty ? 502 : 503))
            #expect(services.map(\.requests.count) == [1, 0])
        }
    }

    /// One that is about to stop, or was ejected, still has its sessions.
    @Test func anInstanceOutOfTurnKeepsItsSessions() async throws {
        let echo = ScriptedService.echo
        try await withGateway(instances: [echo, echo]) { scene, services async throws in
            let tag = try EngineSession.tag(of: services[0])
            scene.gateway.edge.fleets[1].instances[0].checked(.notReady, now: .now())
            for request in EngineSession.requests(of: tag + "abcdefg") {
                #expect(try await scene.ask(request).status == 200)
            }
            #expect(services[0].requests.count == 3)
        }
    }

    /// WebSockets are bounded by the connections of clients; they are no requests under way.
    @Test func tunnelsTakeNoRoomFromRequests() async throws {
        let script: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                if request["upgrade"].isEmpty {
                    try await connection.send(ScriptedService.answer(""))
                } else {
                    try await connection.send(
                        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
                    )
                    _ = try await connection.rest()
                }
            }
        }
        try await withGateway(settings: { $0.upstreamConnectionLimit = 1 }, script: script) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let upgrade = try #require(EngineSession.requests(of: tag + "abcdefg").last)
            try await scene.connect { one in
                try await one.send(upgrade)
                #expect(try await one.message()?.status == 101)
                try await scene.connect { another in
                    try await another.send(upgrade)
                    #expect(try await another.message()?.status == 101)
                    #expect(try await scene.get("/conversations").status == 200)
                }
            }
        }
    }

    @Test func whoPollsMayAskMoreOften() async throws {
        try await withGateway(settings: { $0.addressRate = 1 }) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let poll = try #require(EngineSession.requests(of: tag + "abcdefg").first)
            var statuses: [Int] = []
            let began = ContinuousClock.now
            try await scene.connect { connection in
                for _ in 0..<60 {
                    try await connection.send(poll)
                    statuses.append(try #require(try await connection.message()).status)
                }
                #expect(statuses == Array(repeating: 200, count: 60))
                // They count all the same: six of the ten that may come at once are gone.
                for _ in 0..<10 {
                    try await connection.send(scene.signed("GET /conversations"))
                    statuses.append(try #require(try await connection.message()).status)
                }
            }
            // Four are left, and one a second comes back.
            let most = 5 + Int((ContinuousClock.now - began) / .seconds(1))
            #expect(statuses.dropFirst(60).count { $0 == 200 } <= most)
        }
    }

    @Test func theServiceItselfSaysWhichPagesMayCall() async throws {
        let cors =
            "access-control-allow-origin: http://b.c\r\naccess-control-allow-credentials: true\r\nvary: Origin\r\n"
        let script: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                try await connection.send(ScriptedService.answer("", fields: cors))
            }
        }
        try await withGateway(script: script) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let asked =
                "origin: http://b.c\r\naccess-control-request-method: POST\r\n"
                + "access-control-request-headers: x-diuit-session-token\r\n\r\n"
            for request in [
                "OPTIONS /socket.io/?EIO=4 HTTP/1.1\r\nhost: a\r\n" + asked,
                "GET /socket.io/?EIO=4&sid=\(tag)abcdef HTTP/1.1\r\nhost: a\r\norigin: http://b.c\r\n\r\n",
            ] {
                let answer = try await scene.ask(request)
                #expect(answer.status == 200)
                #expect(answer["access-control-allow-origin"] == ["http://b.c"])
                #expect(answer["access-control-allow-credentials"] == ["true"])
                #expect(answer["vary"] == ["Origin"])
            }
            #expect(scene.service.requests[0]["access-control-request-method"] == ["POST"])
            #expect(scene.service.requests[0]["access-control-request-headers"] == ["x-diuit-session-token"])

            // Everywhere else it is the gateway's to say.
            let other = try await scene.ask("OPTIONS /conversations HTTP/1.1\r\nhost: a\r\n" + asked)
            #expect(other["access-control-allow-origin"] == ["*"])
            #expect(scene.service.requests.count == 2)
        }
    }
}
