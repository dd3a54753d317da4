import NIOCore
import TestSupport
import Testing

@testable import PushProviders

/// Behaviour that no client shows: idle connections, and limits that take long to reach.
@Suite("Connection pool") struct ConnectionPoolTests {
    private func withPool(
        _ change: (inout PoolSettings) -> Void = { _ in },
        answering script: @escaping HTTP2Server.Script = { _ in [.answer(200)] },
        _ body: (ConnectionPool, HTTP2Server) async throws -> Void
    ) async throws {
        try await HTTP2Server.run(script) { server, port in
            var settings = PoolSettings()
            change(&settings)
            let connector = try Connector(versions: .http2, authorities: TestAuthority.certificate)
            let origin = Origin(isSecure: true, host: "localhost", port: port)
            let pool = ConnectionPool(origin: origin, connector: connector, settings: settings)
            do {
                try await body(pool, server)
            } catch {
                await pool.shutdown()
                throw error
            }
            await pool.shutdown()
        }
    }

    private func sendRequest(_ pool: ConnectionPool) async -> Int? {
        let request = OutgoingRequest(to: pool.origin, path: "/", body: ByteBuffer(string: "{}"))
        return try? await pool.send(request).get().status
    }

    @Test("A connection that does not answer pings is closed")
    func pingTimeout() async throws {
        try await withPool {
            $0.requestTimeout = .seconds(8)
            $0.pingInterval = .milliseconds(100)
        } answering: { _ in
            [.answer(200), .stopReading]
        } _: { pool, _ in
            #expect(await sendRequest(pool) == 200)
            #expect(!pool.isUnused)
            try await eventually(within: .seconds(60)) { pool.isUnused }
        }
    }

    @Test("A connection that answers pings stays open")
    func pings() async throws {
        try await withPool {
            $0.requestTimeout = .seconds(8)
            $0.pingInterval = .milliseconds(100)
        } _: { pool, server in
            #expect(await sendRequest(pool) == 200)
            // Longer than the timeout of a ping.
            try await Task.sleep(for: .seconds(10))
            #expect(await sendRequest(pool) == 200)
            #expect(server.connections == 1)
        }
    }

    @Test("An idle connection is closed, and the next request opens another")
    func idleTimeout() async throws {
        try await withPool {
            $0.idleTimeout = .milliseconds(50)
        } _: { pool, server in
            #expect(await sendRequest(pool) == 200)
            try await eventually { pool.isUnused }
            #expect(await sendRequest(pool) == 200)
            #expect(server.connections == 2)
        }
    }

    @Test("A connection that opens after its timeout is closed")
    func lateConnection() async throws {
        // The times are so far apart that a busy machine keeps their order. TLS waits five seconds for a close.
        try await SlowServer.run(after: .seconds(4)) { server, port in
            var settings = PoolSettings()
            settings.connectTimeout = .seconds(1)
            let connector = try Connector(versions: .http2, authorities: TestAuthority.certificate)
            let origin = Origin(isSecure: true, host: "localhost", port: port)
            let pool = ConnectionPool(origin: origin, connector: connector, settings: settings)

            #expect(await sendRequest(pool) == nil)
            // The client accepts the late connection and closes it.
            try await eventually { server.closedByClient == 1 }

            #expect(pool.isUnused)
            // A shutdown waits for the connections that the pool counts.
            if pool.isUnused { await pool.shutdown() }
        }
    }

    @Test("A 503 on an old connection retires it")
    func oldConnection503() async throws {
        try await withPool {
            $0.retiringStatuses = [503]
            $0.retiringAge = .nanoseconds(0)
        } answering: { request in
            [.answer(request.number == 1 ? 503 : 200)]
        } _: { pool, server in
            #expect(await sendRequest(pool) == 503)
            #expect(await sendRequest(pool) == 200)
            #expect(server.connections == 2)
        }
    }

    @Test("A 503 on a new connection does not retire it")
    func newConnection503() async throws {
        try await withPool {
            $0.retiringStatuses = [503]
        } answering: { request in
            [.answer(request.number == 1 ? 503 : 200)]
        } _: { pool, server in
            #expect(await sendRequest(pool) == 503)
            #expect(await sendRequest(pool) == 200)
            #expect(server.connections == 1)
        }
    }

    @Test("Requests over the waiting limit fail without being sent")
    func waitingLimits() async throws {
        try await withPool {
            ($0.connections, $0.streams, $0.waiting) = (1, 2, 3)
            $0.requestTimeout = .seconds(6)
        } answering: { _ in
            []
        } _: { pool, _ in
            #expect(await sendRequest(pool) == nil)
            let failures = await withTaskGroup(of: TransportFailure?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let request = OutgoingRequest(to: pool.origin, path: "/", body: ByteBuffer())
                        guard case .failure(let failure) = await pool.send(request) else { return nil }
                        return failure
                    }
                }
                return await group.reduce(into: [TransportFailure?]()) { $0.append($1) }
            }
            #expect(failures.count == 20)
            #expect(Set(failures).isSubset(of: [.notSent, .timedOut]))
            #expect(failures.count { $0 == .notSent } >= 15)
        }
    }

    @Test("HTTP addresses are parsed, and malformed ones are rejected")
    func addressParsing() {
        #expect(HTTPAddress("https://Push.Example.org:443/a?b=c")?.origin.description == "https://push.example.org")
        #expect(HTTPAddress("https://push.example.org/a%2Fb?c=%20")?.path == "/a%2Fb?c=%20")
        #expect(HTTPAddress("http://[::1]:8080")?.origin == Origin(isSecure: false, host: "::1", port: 8_080))
        #expect(HTTPAddress("http://[::1]:8080")?.origin.authority == "[::1]:8080")
        #expect(HTTPAddress("http://[::1]:8080")?.path == "/")
        for bad in [
            "", "push.example.org", "ftp://a.example/", "https:///a", "https://a:b@c.example/", "https://a.example:0/",
            "https://a.example:99999/", "https://a.example/ä", "https://a.example/a b", "https://%61.example/",
            "https://a.example/\(String(repeating: "a", count: 2_048))", "https://a.example\r\nHost: b",
        ] {
            #expect(HTTPAddress(bad) == nil, "\(bad)")
        }
    }
}
