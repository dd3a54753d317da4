import NIOHTTP1
import TestSupport
import Testing

@testable import GatewayServer

@Suite("Header fields") struct HeaderTests {
    @Test("Fields that only the gateway may set are removed from requests")
    func reservedFields() async throws {
        try await withGateway { fixture in
            let names = [
                "X-User-Id", "x_user_id", "X-USER-NAME", "x-roost-instance", "X_Roost_Instance", "x-internal-token",
                "X-Internal_Token", "x-forwarded-for", "X-Forwarded-Host", "X_FORWARDED_FOR", "x-forwarded-proto",
                "x-forwarded-prefix", "Forwarded", "X-Real-IP", "x_real_ip", "Proxy-Authorization", "Proxy-Connection",
                "TE", "Keep-Alive", "x_request_id", "content_length", "transfer_encoding", "X-Diuit_Session-Token",
            ]
            let fields = names.map { "\($0): evil\r\n" }.joined() + "connection: x-secret, close\r\nx-secret: evil\r\n"
            let forwarded = fixture.forwarded(try await fixture.get("/conversations", fields: fields))
            #expect(forwarded.fields.filter { $0.value.contains("evil") }.map(\.name) == [])
            #expect(forwarded["x-roost-instance"].first?.count == 6)
            #expect(forwarded["x-forwarded-for"] == ["127.0.0.1"])
        }
    }

    @Test("The connection field cannot remove fields that the gateway needs")
    func connectionField() async throws {
        try await withGateway { fixture in
            let fields = "connection: content-length, host, x-request-id, x-forwarded-for\r\ncontent-length: 3\r\n"
            let forwarded = fixture.forwarded(
                try await fixture.perform(fixture.signed("POST /conversations/create", fields: fields, body: "abc"))
            )
            #expect(forwarded.text == "abc")
            for name in ["content-length", "host", "x-request-id", "x-forwarded-for"] {
                #expect(forwarded[name].count == 1)
            }
        }
    }

    @Test("Other fields are forwarded unchanged")
    func ordinaryFields() async throws {
        try await withGateway { fixture in
            let fields = "accept: a\r\ncookie: x=1\r\nx-custom_name: 1\r\naccept: b\r\nif-none-match: \"e\"\r\n"
            let forwarded = fixture.forwarded(try await fixture.get("/conversations", fields: fields))
            #expect(forwarded["accept"] == ["a", "b"])
            #expect(forwarded["cookie"] == ["x=1"])
            #expect(forwarded["x-custom_name"] == ["1"])
            #expect(forwarded["if-none-match"] == ["\"e\""])
        }
    }

    @Test("A valid request id and trace are kept, invalid ones are replaced")
    func requestIDs() async throws {
        try await withGateway { fixture in
            let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let kept = try await fixture.get(
                "/conversations",
                fields: "x-request-id: A-1_b.c\r\ntraceparent: \(parent)\r\n"
            )
            #expect(kept["x-request-id"] == ["A-1_b.c"])
            #expect(fixture.forwarded(kept)["x-request-id"] == ["A-1_b.c"])
            let child = try #require(fixture.forwarded(kept)["traceparent"].first)
            #expect(FieldValue.isTraceparent(child))
            #expect(child.prefix(36) == parent.prefix(36))
            #expect(child.suffix(3) == "-01")
            #expect(child != parent)
            #expect(kept["traceparent"] == [child])
            let long = String(repeating: "a", count: 129)
            for (id, trace) in [("a b", "00-x"), (long, parent + "0"), ("a\"", parent.uppercased()), ("", "")] {
                let made = try await fixture.get(
                    "/conversations",
                    fields: "x-request-id: \(id)\r\ntraceparent: \(trace)\r\n"
                )
                #expect(made["x-request-id"].first?.count == 32)
                let forwarded = try #require(fixture.forwarded(made)["traceparent"].first)
                #expect(forwarded != trace)
                #expect(FieldValue.isTraceparent(forwarded))
            }
        }
    }

    @Test("The gateway's own response continues the trace of its request")
    func ownTrace() async throws {
        try await withGateway { fixture in
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let fields = "traceparent: 00-\(trace)-00f067aa0ba902b7-01\r\n"
            for target in ["/nowhere", "/health", "/docs"] {
                let response = try await fixture.get(target, fields: fields)
                #expect(response["traceparent"].count == 1)
                #expect(response["traceparent"].first?.hasPrefix("00-\(trace)-") ?? false)
            }
            let lengths = "content-length: 5\r\ncontent-length: 6\r\n"
            let malformed = try await fixture.perform("POST /auth/login HTTP/1.1\r\nhost: a\r\n\(lengths)\r\nhello")
            #expect(malformed.status == 400)
            #expect(malformed["traceparent"].first.map(FieldValue.isTraceparent) ?? false)
        }
    }

    @Test("The trace state is forwarded only with a valid trace")
    func traceState() async throws {
        try await withGateway { fixture in
            func forwarded(_ traces: String...) async throws -> RawMessage {
                let parents = traces.map { "traceparent: \($0)\r\n" }.joined()
                let fields = parents + "tracestate: a=1\r\ntracestate: b=2\r\n"
                return fixture.forwarded(try await fixture.get("/conversations", fields: fields))
            }
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let good = "00-\(trace)-00f067aa0ba902b7-01"
            let kept = try await forwarded(good)
            #expect(kept["tracestate"] == ["a=1", "b=2"])
            // Of a later version the known parts are read, and only the defined flags are kept.
            let span = "00f067aa0ba902b7"
            for (parent, flags) in [("cc-\(trace)-\(span)-ff-more", "03"), ("00-\(trace)-\(span)-00", "00")] {
                let child = try #require(try await forwarded(parent)["traceparent"].first)
                #expect(child.hasPrefix("00-\(trace)-"))
                #expect(child.hasSuffix("-\(flags)"))
                #expect(!child.contains("00f067aa0ba902b7"))
            }
            for bad in [["ff-\(trace)-00f067aa0ba902b7-01"], [good, good], ["cc-\(trace)-00f067aa0ba902b7-01more"]] {
                let fields = bad.map { "traceparent: \($0)\r\n" }.joined() + "tracestate: a=1\r\n"
                let made = fixture.forwarded(try await fixture.get("/conversations", fields: fields))
                #expect(made["tracestate"].isEmpty)
                #expect(!(made["traceparent"].first ?? trace).contains(trace))
            }
        }
    }

    private static let marks = String(repeating: "\u{301}\u{316}", count: 15_000)

    @Test(
        "A header field with more than 128 combining marks in a row is rejected",
        arguments: ["accept-encoding", "authorization", "connection", "x-custom", "x-diuit-session-token"]
    )
    func marks(name: String) async throws {
        try await withGateway { fixture in
            let response = try await fixture.perform(
                "GET /conversations HTTP/1.1\r\nhost: a\r\n\(name): a\(Self.marks)\r\n\r\n"
            )
            #expect(response.status == 400)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("A header field may contain accented letters")
    func accents() async throws {
        try await withGateway { fixture async throws in
            let name = String(repeating: "e\u{301}", count: 200)
            #expect(try await fixture.get("/conversations", fields: "x-custom: \(name)\r\n").status == 200)
        }
    }

    @Test("Header fields are read within 50 ms of processor time per 100 kB")
    func cost() {
        let names = (0..<190).map { ("x-\($0)", "1") }
        let fields = [
            ("connection", String(repeating: "a,", count: 30_000)), ("connection", "a\(Self.marks)"),
            ("accept-encoding", "a\(Self.marks)"), ("accept-encoding", String(repeating: "a;q=0,", count: 10_000)),
        ]
        for field in fields {
            let headers = HTTPHeaders([("host", "a")] + names + [field])
            let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/conversations", headers: headers)
            let allowance = CostTest.allowance(for: field.1.utf8.count)
            var least = Double.infinity
            for _ in 0..<3 where least > allowance {
                let start = CostTest.spentByThread()
                // A rejection counts like a result, because its cost matters too.
                _ = try? ParsedRequestHead(head)
                least = min(least, CostTest.spentByThread() - start)
            }
            #expect(least <= allowance, "\(field.0), \(field.1.utf8.count) bytes: \(least) s")
        }
    }

    @Test("Generated request ids and traces are unique and valid")
    func uniqueIDs() {
        var ids = FastRandomGenerator()
        let made = (0..<1_000).map { _ in ids.requestID() }
        #expect(Set(made).count == 1_000)
        #expect(made.allSatisfy { $0.utf8.count == 32 && FieldValue.isRequestID($0) })
        #expect((0..<1_000).allSatisfy { _ in FieldValue.isTraceparent(ids.traceparent()) })
    }
}
