import NIOCore
import Testing

@testable import GatewayServer

@Suite("Forwarding") struct ForwardingTests {
    @Test("A request is forwarded with its target, credential, client address and trace")
    func requestAndResponse() async throws {
        try await withGateway { fixture in
            let response = try await fixture.get("/conversations?limit=2&a=%2F")
            #expect(response.status == 200)
            let forwarded = fixture.forwarded(response)
            #expect(forwarded.startLine == "GET /conversations?limit=2&a=%2F HTTP/1.1")
            #expect(forwarded["authorization"] == ["Bearer \(fixture.token)"])
            #expect(forwarded["host"] == ["127.0.0.1:\(fixture.service.port)"])
            #expect(forwarded["x-forwarded-for"] == ["127.0.0.1"])
            #expect(forwarded["x-forwarded-host"] == ["example.org"])
            #expect(response["x-request-id"] == forwarded["x-request-id"])
            #expect(forwarded["traceparent"].first?.utf8.count == 55)
        }
    }

    @Test("A body with a length is forwarded with the length")
    func bodyWithLength() async throws {
        try await withGateway { fixture in
            let request = fixture.signed("POST /conversations/create", fields: "content-length: 5\r\n", body: "hello")
            let forwarded = fixture.forwarded(try await fixture.perform(request))
            #expect(forwarded["content-length"] == ["5"])
            #expect(forwarded["transfer-encoding"].isEmpty)
            #expect(forwarded.text == "hello")
        }
    }

    @Test("Requests of one client reuse one connection to the service")
    func connectionReuse() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                for number in 0..<20 {
                    try await connection.send(fixture.signed("GET /conversations?n=\(number)"))
                    let response = try #require(try await connection.message())
                    #expect(fixture.forwarded(response).target == "/conversations?n=\(number)")
                }
            }
            #expect(fixture.service.connections == 1)
        }
    }

    @Test("Pipelined requests are answered in order")
    func pipelining() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                let kinds = (0..<30).map { $0 % 3 }
                let requests = kinds.enumerated().map { number, kind in
                    switch kind {
                    case 0: fixture.signed("GET /conversations?n=\(number)")
                    case 1:
                        fixture.signed(
                            "POST /conversations/create?n=\(number)",
                            fields: "content-length: 3\r\n",
                            body: "abc"
                        )
                    default: "GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n"
                    }
                }
                try await connection.send(requests.joined())
                for (number, kind) in kinds.enumerated() {
                    let response = try #require(try await connection.message())
                    if kind == 2 {
                        #expect(response.status == 404)
                    } else {
                        #expect(fixture.forwarded(response).target.hasSuffix("?n=\(number)"))
                    }
                }
            }
        }
    }
}
