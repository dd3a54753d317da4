import Foundation
import NIOHTTP2
import PushProviders
import Synchronization
import TestSupport
import Testing

@Suite("APNs connections") struct APNsConnectionTests {
    /// Responds to `count` requests at once when all of them have arrived.
    private static func answering(every count: Int) -> HTTP2Server.Script {
        let held = Mutex<[HTTP2StreamID]>([])
        return { request in
            held.withLock { held in
                held.append(request.stream)
                guard held.count == count else { return [] }
                defer { held = [] }
                return held.map { .answerOf($0, 200) }
            }
        }
    }

    @Test("A connection opens as many streams as the server allows")
    func concurrentStreams() async throws {
        try await withAPNs(
            settings: [.streams(3)],
            configure: { $0.connections = 1 },
            answering: Self.answering(every: 3)
        ) { fixture in
            let replies = await fixture.send(times: 60)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(fixture.server.peak == 3)
            #expect(fixture.server.connections == 1)
        }
    }

    @Test("The stream limit follows the server's settings")
    func streamLimit() async throws {
        let rest = Self.answering(every: 20)
        try await withAPNs(
            settings: [.streams(1)],
            configure: { $0.connections = 1 },
            answering: { request in
                request.number == 1 ? [.accept, .settings([.streams(20)])] : rest(request)
            }
        ) { fixture in
            let replies = await fixture.send(times: 21)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(fixture.server.requests.first?.open == 1)
            #expect(fixture.server.peak == 20)
        }
    }

    @Test("Requests are spread over the configured number of connections")
    func loadSharing() async throws {
        try await withAPNs(
            settings: [.streams(100)],
            configure: { $0.connections = 3 },
            answering: { _ in
                [.hold]
            }
        ) { fixture in
            async let replies = fixture.send(times: 400)
            try await eventually(within: .seconds(30)) { fixture.server.held == 300 }
            #expect(fixture.server.connections == 3)
            #expect(fixture.server.peak == 100)
            fixture.server.setScript { _ in [.accept] }
            fixture.server.answerHeld(200)

            #expect(await replies.filter { $0.outcome == .accepted }.count == 400)
            #expect(fixture.server.connections == 3)
        }
    }

    @Test("After GOAWAY, the excluded requests are sent once on a new connection")
    func goAway() async throws {
        let taken = Mutex<[String: Int]>([:])
        try await withAPNs(
            configure: { $0.connections = 1 },
            answering: { request in
                let id = request.fields["apns-id"] ?? ""
                let acceptance = {
                    taken.withLock { $0[id, default: 0] += 1 }
                    return HTTP2Server.Action.accept
                }
                guard request.connection == 1 else { return [acceptance()] }
                switch Int(request.stream) {
                case ..<40: return [acceptance()]
                // The GOAWAY is sent while requests that it excludes are in flight.
                case 79: return [.goAway(last: 39, debugData: #"{"reason":"Shutdown"}"#)]
                default: return []
                }
            }
        ) { fixture in
            let replies = await fixture.send(times: 200)

            #expect(replies.filter { $0.outcome == .accepted }.count == 200)
            #expect(taken.withLock { $0.count } == 200)
            #expect(taken.withLock { $0.values.allSatisfy { $0 == 1 } })
            #expect(fixture.server.connections == 2)
        }
    }

    @Test("A request that four connections return is reported as busy")
    func repeatedGoAway() async throws {
        try await withAPNs(answering: { _ in
            [.goAway(last: 0)]
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply == PushReply(.providerBusy, reason: "ConnectionLost: returned"))
            #expect(fixture.server.requests.count == 4)
        }
    }

    @Test("A refused stream is retried on the same connection")
    func refusedStream() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .reset(.refusedStream) : .accept]
        }) { fixture in
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.requests.count == 2)
            #expect(fixture.server.connections == 1)
        }
    }

    /// By default NIO treats 200 resets in 30 seconds as an attack, as they would be on a server.
    @Test("Many refused streams do not close the connection")
    func manyRefusedStreams() async throws {
        try await withAPNs(
            configure: { $0.connections = 1 },
            answering: { request in
                [request.number <= 300 ? .reset(.refusedStream) : .accept]
            }
        ) { fixture in
            let replies = await fixture.send(times: 400)

            #expect(replies.filter { $0.outcome == .accepted }.count == 400)
            #expect(fixture.server.requests.count == 700)
            #expect(fixture.server.connections == 1)
        }
    }

    @Test("A reset stream is reported as busy, and is not retried")
    func resetStream() async throws {
        try await withAPNs(answering: { request in
            [request.path.hasSuffix("00") ? .reset(.internalError) : .accept]
        }) { fixture in
            let replies = await fixture.send(times: 10)

            #expect(replies[0].outcome == .providerBusy)
            #expect(replies[0].reason?.hasPrefix("ConnectionLost: reset") == true)
            #expect(replies.dropFirst().allSatisfy { $0.outcome == .accepted })
            #expect(fixture.server.requests.count == 10)
        }
    }

    @Test("A request without a response times out, and does not delay others")
    func requestTimeout() async throws {
        try await withAPNs(
            configure: { $0.requestTimeout = .seconds(10) },
            answering: { request in
                request.path.hasSuffix("00") ? [] : [.accept]
            }
        ) { fixture in
            let began = ContinuousClock.now
            let replies = await fixture.send(times: 10)

            #expect(replies[0] == PushReply(.providerBusy, reason: "NoResponse"))
            #expect(replies.dropFirst().allSatisfy { $0.outcome == .accepted })
            #expect(ContinuousClock.now - began < .seconds(60))
        }
    }

    @Test("A connection that timed out is replaced")
    func unresponsiveConnection() async throws {
        try await withAPNs(
            configure: { $0.requestTimeout = .seconds(10) },
            answering: { request in
                request.connection == 1 && request.number > 1 ? [.stopReading] : [.accept]
            }
        ) { fixture in
            #expect(await fixture.send().outcome == .accepted)
            #expect(await fixture.send().reason == "NoResponse")
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.connections == 2)
        }
    }

    @Test("A lost connection fails its request, and the next request opens another")
    func lostConnection() async throws {
        try await withAPNs(answering: { request in
            request.number == 1 ? [.close] : [.accept]
        }) { fixture in
            #expect(await fixture.send() == PushReply(.providerBusy, reason: "ConnectionLost"))
            #expect(await fixture.send().outcome == .accepted)
        }
    }

    @Test("A refused connection reports the provider as unreachable")
    func connectionRefused() async throws {
        try await withAPNs(configure: { $0.productionURL = "https://127.0.0.1:1" }) { fixture in
            let replies = await fixture.send(times: 100)

            #expect(replies.allSatisfy { $0 == PushReply(.providerBusy, reason: "Unreachable") })
        }
    }

    @Test("A server with an untrusted certificate receives no request")
    func untrustedAuthority() async throws {
        try await withAPNs(configure: { $0.trustedAuthorities = nil }) { fixture in
            #expect(await fixture.send() == PushReply(.providerBusy, reason: "Unreachable"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test("A cancelled send returns, and its connection stays usable")
    func cancellation() async throws {
        try await withAPNs(answering: { _ in
            [.hold]
        }) { fixture in
            let task = Task { await fixture.send() }
            try await eventually(within: .seconds(30)) { fixture.server.held == 1 }
            task.cancel()

            #expect(await task.value == PushReply(.providerBusy, reason: "Cancelled"))
            // The connection is still usable.
            fixture.server.answerHeld(200)
            fixture.server.setScript { _ in [.accept] }
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.connections == 1)
        }
    }

    @Test("A shutdown waits for requests in flight, and rejects new ones")
    func shutdown() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .hold : .accept]
        }) { fixture in
            async let reply = fixture.send()
            try await eventually(within: .seconds(30)) { fixture.server.held == 1 }
            async let end: Void = fixture.client.shutdown()
            try await eventually { await fixture.send() == PushReply(.providerBusy, reason: "ShutDown") }
            fixture.server.answerHeld(200)

            #expect(await reply.outcome == .accepted)
            await end
        }
    }
}
