import Postgres
import Testing

struct ListenerTests {
    @Test func notificationsArriveInOrderOnTheChannelsAskedFor() async throws {
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

    @Test func aListenerListensAgainAndSaysSo() async throws {
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

    @Test func aDeadPeerIsFound() async throws {
        let proxy = try FaultProxy()
        try await withFixture(
            through: proxy,
            {
                // The listener's connection alone: another that comes late would be taken for the new one.
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
            try await until("it connects anew") { proxy.connections > before }
            proxy.hold()

            #expect(await events.next() == .reconnected)
        }
    }

    @Test func aSlowReaderIsToldThatItMissedSome() async throws {
        try await withFixture({
            $0.notificationBuffer = 4
            $0.keepaliveInterval = .milliseconds(50)
        }) { fixture in
            var events = fixture.pool.listen([fixture.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)
            // Far more than there is room for: some of them come late, to a backend that is held up.
            for number in 0..<200 {
                try await fixture.admin.run("SELECT pg_notify(\(fixture.schema), \(String(number)))")
            }
            // Another backend's, but sent after all of them.
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

    @Test func aListenerEndsWithItsPool() async throws {
        try await withFixture { fixture in
            var events = fixture.pool.listen([fixture.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            await fixture.pool.shutdown()

            #expect(await events.next() == nil)
        }
    }
}
