import NIOCore
import Testing

@testable import GatewayServer

/// What is too much or too slow is refused with a written answer, and the gateway goes on.
@Suite struct LimitTests {
    /// Sends as much of `pieces` as is taken, then reads the answer.
    private func answer(_ scene: GatewayScene, to pieces: [String]) async throws -> RawMessage {
        try await scene.connect { connection in
            for piece in pieces {
                do { try await connection.send(piece) } catch { break }
            }
            return try #require(try await connection.message())
        }
    }

    @Test func tooManyOrTooLongFieldsAre431() async throws {
        try await withGateway { scene in
            let start = "GET /conversations HTTP/1.1\r\nhost: a\r\n"
            let many = (0..<10_000).map { "x-\($0): 1\r\n" }.joined()
            let some = (0..<201).map { "x-\($0): 1\r\n" }.joined()
            let long = "x: \(String(repeating: "a", count: 1_000_000))\r\n"
            for fields in [many, some, long] {
                let answer = try await answer(scene, to: [start, fields, "\r\n"])
                #expect(answer.status == 431)
                #expect(answer.code == "headers_too_large")
            }
            let fit = (0..<190).map { "x-\($0): 1\r\n" }.joined()
            #expect(try await scene.get("/conversations", fields: fit).status == 200)
            #expect(scene.service.requests.count == 1)
        }
    }

    @Test func aTargetThatIsTooLongIs414() async throws {
        try await withGateway { scene in
            let answer = try await scene.get("/conversations?q=\(String(repeating: "a", count: 17_000))")
            #expect(answer.status == 414)
            let parameters = (0..<100_000).map { "a\($0)=1" }.joined(separator: "&")
            #expect(try await scene.get("/conversations?\(parameters)").status == 431)
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func aBodyThatSaysItIsTooLargeIsRefusedUnread() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyLimit = 100_000
        }) { scene in
            let fields = "content-length: 100001\r\n"
            let answer = try await scene.ask(scene.signed("POST /conversations/create", fields: fields))
            #expect(answer.status == 413)
            #expect(answer["connection"] == ["close"])
            #expect(scene.service.requests.isEmpty)
            let fit = String(repeating: "x", count: 100_000)
            let most = scene.signed("POST /conversations/create", fields: "content-length: 100000\r\n", body: fit)
            #expect(try await scene.ask(most).status == 200)
        }
    }

    @Test func aBodyThatTurnsOutTooLargeIsRefusedOnItsWay() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyLimit = 100_000
        }) { scene in
            let head = scene.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "4000\r\n\(String(repeating: "x", count: 0x4000))\r\n"
            let answer = try await answer(scene, to: [head] + Array(repeating: chunk, count: 40))
            #expect(answer.status == 413)
            // Its connection to the service broke off, so the service never saw a whole request.
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func chunksThatAreMostlyExtensionsAreRefused() async throws {
        try await withGateway { scene in
            let head = scene.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "1;\(String(repeating: "e", count: 16_000))\r\nx\r\n"
            let answer = try await answer(scene, to: [head] + Array(repeating: chunk, count: 20))
            #expect(answer.status == 400)
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func aHeadThatComesTooSlowlyIs408() async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { scene in
            try await scene.connect { connection in
                try await connection.send("GET /conversations HTTP/1.1\r\nhost: ")
                let answer = try #require(try await connection.message())
                #expect(answer.status == 408)
                #expect(try await connection.rest() == "")
            }
            // Having been answered before gives no more time than the first request has.
            try await scene.connect { connection in
                try await connection.send(scene.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                try await connection.send("GET /con")
                #expect(try await connection.message()?.status == 408)
            }
        }
    }

    @Test(arguments: [
        ["GET /conversations", "GE"], ["GET /conversations", "GET /conversations HTTP/1.1\r\nhost: a\r\n"],
        ["POST /conversations/create", "P"], ["GET /nowhere", "G"],
    ])
    func theBeginningOfTheNextRequestIsNotForgotten(requests: [String]) async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { scene in
            try await scene.connect { connection in
                let isPost = requests[0].hasPrefix("POST")
                let fields = isPost ? "content-length: 3\r\n" : ""
                // Both are in one packet, so the second has begun before the first was answered.
                let first = scene.signed(requests[0], fields: fields, body: isPost ? "abc" : "")
                try await connection.send(first + requests[1])
                #expect(try await connection.message()?.status == (requests[0].contains("nowhere") ? 404 : 200))
                #expect(try await connection.message()?.status == 408)
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func whoSendsWholeRequestsMayWaitBetweenThem() async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(100)
        }) { scene in
            try await scene.connect { connection in
                for body in ["abc", "a\r\n\r\n", ""] {
                    let fields = "content-length: \(body.utf8.count)\r\n"
                    try await connection.send(scene.signed("POST /conversations/create", fields: fields, body: body))
                    #expect(try await connection.message()?.status == 200)
                    // Longer than a head may take.
                    try await Task.sleep(for: .milliseconds(300))
                }
            }
        }
    }

    @Test func aConnectionThatAsksForNothingIsClosedInSilence() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                try await connection.send(scene.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                // Not earlier, else whoever is held up before it asks is closed already.
                try await scene.reconfigure { $0.idleTimeout = .milliseconds(700) }
                #expect(try await connection.rest() == "")
            }
            try await scene.connect { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func aBodyThatStopsComingIs408() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
        }) { scene async throws in
            let head = scene.signed("POST /conversations/create", fields: "content-length: 10\r\n")
            #expect(try await scene.ask(head + "abc").status == 408)
        }
    }

    @Test func aBodyThatTricklesIs408() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
            configuration.bodyFloor = 1_000
        }) { scene in
            let request = scene.signed("POST /conversations/create", fields: "content-length: 1000\r\n")
            try await scene.connect { connection in
                try await connection.send(request)
                // A byte every 20 ms never lets the idle limit pass, but is far below the floor.
                let channel = connection.channel
                let trickle = channel.eventLoop.scheduleRepeatedTask(
                    initialDelay: .milliseconds(20),
                    delay: .milliseconds(20)
                ) { _ in
                    channel.writeAndFlush(ByteBuffer(string: "x"), promise: nil)
                }
                let answer = try await connection.message()
                trickle.cancel()
                #expect(answer?.status == 408)
            }
        }
    }

    @Test("Bytes sent early buy no time for the rest of a body")
    func earlyBytes() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(500)
            configuration.bodyFloor = 1_000
        }) { scene in
            let early = String(repeating: "x", count: 100_000)
            let fields = "content-length: 100500\r\n"
            try await scene.connect { connection in
                try await connection.send(scene.signed("POST /conversations/create", fields: fields, body: early))
                // At a byte every 20 ms the body would be whole after 10 s, and 100 s were earned by what came at once.
                let channel = connection.channel
                let trickle = channel.eventLoop.scheduleRepeatedTask(
                    initialDelay: .milliseconds(20),
                    delay: .milliseconds(20)
                ) { _ in
                    channel.writeAndFlush(ByteBuffer(string: "x"), promise: nil)
                }
                let answer = try await connection.message()
                trickle.cancel()
                #expect(answer?.status == 408)
            }
        }
    }

    @Test func anAnswerThatDoesNotBeginIs504() async throws {
        try await withGateway(
            settings: { configuration in
                configuration.answerTimeout = .milliseconds(200)
            },
            script: { connection, service in
                while let request = try await connection.message() { service.note(request) }
            }
        ) { scene in
            let answer = try await scene.get("/conversations")
            #expect(answer.status == 504)
            #expect(answer.code == "gateway_timeout")
        }
    }

    @Test func aServiceThatIsDownIs503() async throws {
        try await withGateway(settings: { configuration in
            // Nothing listens on the discard port.
            configuration.services = try UpstreamService.known.map { name, prefixes, _ in
                try UpstreamService(name: name, prefixes: prefixes, urls: ["http://127.0.0.1:9"])
            }
        }) { scene in
            let answer = try await scene.get("/conversations")
            #expect(answer.status == 503)
            #expect(answer["retry-after"] == ["1"])
            #expect(answer.code == "unavailable")
        }
    }

    @Test("A connection beyond the limit gets 503 where every other is busy")
    func tooManyConnectionsAreToldSo() async throws {
        try await withGateway(
            settings: { $0.connectionLimit = 1 },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.answer("done"))
                }
            }
        ) { scene in
            try await scene.connect { first in
                try await first.send(scene.signed("GET /conversations"))
                try await eventually { scene.service.requests.count == 1 }
                let answer = try await scene.get("/conversations")
                #expect(answer.status == 503)
                #expect(answer.code == "too_many_connections")
                scene.service.note(bytes: 1)
                #expect(try await first.message()?.status == 200)
            }
        }
    }

    @Test func tooManyRequestsForOneServiceAreToldSo() async throws {
        try await withGateway(
            settings: { configuration in
                configuration.upstreamConnectionLimit = 1
            },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    if request.target.hasSuffix("?wait") { _ = try await connection.rest() }
                    try await connection.send(ScriptedService.answer(""))
                }
            }
        ) { scene in
            try await scene.connect { first in
                try await first.send(scene.signed("GET /conversations?wait"))
                try await eventually { scene.service.requests.count == 1 }
                #expect(try await scene.get("/conversations").status == 503)
            }
        }
    }
}
