import NIOCore
import Testing

@testable import GatewayServer

@Suite struct ForwardingTests {
    @Test func aRequestReachesItsServiceAndItsAnswerTheClient() async throws {
        try await withGateway { scene in
            let answer = try await scene.get("/conversations?limit=2&a=%2F")
            #expect(answer.status == 200)
            let seen = scene.seen(answer)
            #expect(seen.startLine == "GET /conversations?limit=2&a=%2F HTTP/1.1")
            #expect(seen["authorization"] == ["Bearer \(scene.token)"])
            #expect(seen["host"] == ["127.0.0.1:\(scene.service.port)"])
            #expect(seen["x-forwarded-for"] == ["127.0.0.1"])
            #expect(seen["x-forwarded-host"] == ["example.org"])
            #expect(answer["x-request-id"] == seen["x-request-id"])
            #expect(seen["traceparent"].first?.utf8.count == 55)
        }
    }

    @Test func aBodyGoesOnWithItsLength() async throws {
        try await withGateway { scene in
            let request = scene.signed("POST /conversations/create", fields: "content-length: 5\r\n", body: "hello")
            let seen = scene.seen(try await scene.ask(request))
            #expect(seen["content-length"] == ["5"])
            #expect(seen["transfer-encoding"].isEmpty)
            #expect(seen.text == "hello")
        }
    }

    @Test func manyRequestsShareOneConnectionEachWay() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                for number in 0..<20 {
                    try await connection.send(scene.signed("GET /conversations?n=\(number)"))
                    let answer = try #require(try await connection.message())
                    #expect(scene.seen(answer).target == "/conversations?n=\(number)")
                }
            }
            #expect(scene.service.connections == 1)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInTheirOrder() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                let kinds = (0..<30).map { $0 % 3 }
                let requests = kinds.enumerated().map { number, kind in
                    switch kind {
                    case 0: scene.signed("GET /conversations?n=\(number)")
                    case 1:
                        scene.signed(
                            "POST /conversations/create?n=\(number)",
                            fields: "content-length: 3\r\n",
                            body: "abc"
                        )
                    default: "GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n"
                    }
                }
                try await connection.send(requests.joined())
                for (number, kind) in kinds.enumerated() {
                    let answer = try #require(try await connection.message())
                    if kind == 2 {
                        #expect(answer.status == 404)
                    } else {
                        #expect(scene.seen(answer).target.hasSuffix("?n=\(number)"))
                    }
                }
            }
        }
    }
}
