import Postgres
import Testing

struct ListenerTests {
    @Test func notificationsArriveInOrderOnTheChannelsAskedFor() async throws {
        try await withScene { scene in
            let channels = [scene.schema + "_a", scene.schema + " \"B\""]
            var events = scene.pool.listen(channels).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            for number in 0..<100 {
                try await scene.admin.run("SELECT pg_notify(\(channels[number % 2]), \(String(number)))")
            }
            try await scene.admin.run("SELECT pg_notify(\(scene.schema + "_c"), 'not for us')")
            try await scene.admin.run("SELECT pg_notify(\(channels[0]), '')")

            for number in 0..<100 {
                #expect(await events.next() == .notification(channel: channels[number % 2], payload: String(number)))
            }
            #expect(await events.next() == .notification(channel: channels[0], payload: ""))
        }
    }

    @Test func aListenerListensAgainAndSaysSo() async throws {
        try await withScene { scene in
            let channel = scene.schema
            var events = scene.pool.listen([channel]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)
            for _ in 0..<3 {
                try await scene.terminateBackends()
                #expect(await events.next() == .reconnected)
                try await scene.admin.run("SELECT pg_notify(\(channel), 'x')")
                #expect(await events.next() == .notification(channel: channel, payload: "x"))
            }
        }
    }

    @Test func aDeadPeerIsFound() async throws {
        let proxy = try FaultProxy()
        try await withScene(
            through: proxy,
            {
                // The listener's connection alone: another that comes late would be taken for the new one.
                $0.readConnections = 0
                $0.transactionConnections = 0
                $0.keepaliveInterval = .milliseconds(100)
                $0.silenceTimeout = .milliseconds(100)
            }
        ) { scene in
            var events = scene.pool.listen([scene.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            proxy.hold(questions: true, answers: true)
            let before = proxy.connections
            try await until("it connects anew") { proxy.connections > before }
            proxy.hold()

            #expect(await events.next() == .reconnected)
        }
    }

    @Test func aSlowReaderIsToldThatItMissedSome() async throws {
        try await withScene({
            $0.notificationBuffer = 4
            $0.keepaliveInterval = .milliseconds(50)
        }) { scene in
            var events = scene.pool.listen([scene.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)
            // Far more than there is room for: some of them come late, to a backend that is held up.
            for number in 0..<200 { try await scene.admin.run("SELECT pg_notify(\(scene.schema), \(String(number)))") }
            // Another backend's, but sent after all of them.
            var other = scene.pool.listen([scene.schema + "2"]).makeAsyncIterator()
            #expect(await other.next() == .reconnected)
            try await scene.admin.run("SELECT pg_notify(\(scene.schema + "2"), '')")
            _ = await other.next()

            for number in 0..<4 {
                #expect(await events.next() == .notification(channel: scene.schema, payload: String(number)))
            }
            #expect(await events.next() == .reconnected)
        }
    }

    @Test func aListenerEndsWithItsPool() async throws {
        try await withScene { scene in
            var events = scene.pool.listen([scene.schema]).makeAsyncIterator()
            #expect(await events.next() == .reconnected)

            await scene.pool.shutdown()

            #expect(await events.next() == nil)
        }
    }
}
