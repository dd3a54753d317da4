import Postgres
import Testing

@Suite("Listening for notifications") struct ListenerTests {
    @Test("Notifications of the requested channels arrive in order")
    func orderAndChannels() async throws {
        try await withFixture { fixture in
            let channels = [fixture.schema + "_a", fixture.schema + " \"B\""]
            var events = fixture.pool.listen(channels).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            for number in 0..<100 {
                try await fixture.admin.run("SELECT pg_notify(\(channels[number % 2]), \(String(number)))")
            }
            try await fixture.admin.run("SELECT pg_notify(\(fixture.schema + "_c"), 'not for us')")
            try await fixture.admin.run("SELECT pg_notify(\(channels[0]), '')")

            for number in 0..<100 {
                #expect(await events.next() == .notification(channel: channels[number % 2], payload: String(number)))
            }
            #expect(await events.next() == .notification(channel: channels[0], payload: ""))
        }
    }

    @Test("A listener reconnects and reports it")
    func reconnects() async throws {
        try await withFixture { fixture in
            let channel = fixture.schema
            var events = fixture.pool.listen([channel]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)
            for _ in 0..<3 {
                try await fixture.terminateBackends()
                #expect(await events.next() == .reconnected)
                try await fixture.admin.run("SELECT pg_notify(\(channel), 'x')")
                #expect(await events.next() == .notification(channel: channel, payload: "x"))
            }
        }
    }

    @Test("A connection that no longer responds is found and replaced")
    func deadPeer() async throws {
        let proxy = try FaultProxy()
        try await withFixture(
            through: proxy,
            {
                // Only the listener's connection, so that a late connection of the pool is not counted as its new one.
                $0.readConnections = 0
                $0.transactionConnections = 0
                $0.keepaliveInterval = .milliseconds(100)
                $0.responseTimeout = .milliseconds(100)
            }
        ) { fixture in
            var events = fixture.pool.listen([fixture.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            proxy.hold(requests: true, responses: true)
            let before = proxy.connections
            try await until("it reconnects") { proxy.connections > before }
            proxy.hold()

            #expect(await events.next() == .reconnected)
        }
    }

    @Test("A slow reader is told that it missed notifications")
    func slowReader() async throws {
        try await withFixture({
            $0.notificationBuffer = 4
            $0.keepaliveInterval = .milliseconds(50)
        }) { fixture in
            var events = fixture.pool.listen([fixture.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)
            // Far more than the buffer holds, because a slow backend may deliver some of them late.
            for number in 0..<200 {
                try await fixture.admin.run("SELECT pg_notify(\(fixture.schema), \(String(number)))")
            }
            // From another backend, but sent after all of them.
            var other = fixture.pool.listen([fixture.schema + "2"]).makeAsyncIterator()
            #expect(await other.next() == .reconnected)
            try await fixture.admin.run("SELECT pg_notify(\(fixture.schema + "2"), '')")
            _ = await other.next()

            for number in 0..<4 {
                #expect(await events.next() == .notification(channel: fixture.schema, payload: String(number)))
            }
            #expect(await events.next() == .reconnected)
        }
    }

    @Test("A listener ends with its pool")
    func poolShutdown() async throws {
        try await withFixture { fixture in
            var events = fixture.pool.listen([fixture.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            await fixture.pool.shutdown()

            #expect(await events.next() == nil)
        }
    }
}
