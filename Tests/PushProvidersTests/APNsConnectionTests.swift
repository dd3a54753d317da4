import Foundation
import NIOHTTP2
import PushProviders
import Synchronization
import TestSupport
import Testing

/// What connections do when Apple limits, leaves, refuses or says nothing.
@Suite struct APNsConnectionTests {
    /// Answers when so many are there, all of them at once.
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

    @Test func concurrentStreams() async throws {
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

    @Test func initialStreamLimit() async throws {
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

    @Test func loadSharing() async throws {
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

    @Test func goAway() async throws {
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
                // The good-bye goes out when some that it leaves are on their way already.
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

    @Test func repeatedGoAway() async throws {
        try await withAPNs(answering: { _ in
            [.goAway(last: 0)]
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply == PushReply(.providerBusy, reason: "ConnectionLost: returned"))
            #expect(fixture.server.requests.count == 4)
        }
    }

    @Test func refusedStream() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .reset(.refusedStream) : .accept]
        }) { fixture in
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.requests.count == 2)
            #expect(fixture.server.connections == 1)
        }
    }

    /// NIO takes 200 in half a minute for an attack, as they would be on a server.
    @Test func manyRefusedStreams() async throws {
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

    @Test func resetStream() async throws {
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

    @Test func requestTimeout() async throws {
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

    @Test func unresponsiveConnection() async throws {
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

    @Test func lostConnection() async throws {
        try await withAPNs(answering: { request in
            request.number == 1 ? [.close] : [.accept]
        }) { fixture in
            #expect(await fixture.send() == PushReply(.providerBusy, reason: "ConnectionLost"))
            #expect(await fixture.send().outcome == .accepted)
        }
    }

    @Test func connectionRefused() async throws {
        try await withAPNs(configure: { $0.productionURL = "https://127.0.0.1:1" }) { fixture in
            let replies = await fixture.send(times: 100)

            #expect(replies.allSatisfy { $0 == PushReply(.providerBusy, reason: "Unreachable") })
        }
    }

    @Test func untrustedAuthority() async throws {
        try await withAPNs(configure: { $0.trustedAuthorities = nil }) { fixture in
            #expect(await fixture.send() == PushReply(.providerBusy, reason: "Unreachable"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test func cancellation() async throws {
        try await withAPNs(answering: { _ in
            [.hold]
        }) { fixture in
            let task = Task { await fixture.send() }
            try await eventually(within: .seconds(30)) { fixture.server.held == 1 }
            task.cancel()

            #expect(await task.value == PushReply(.providerBusy, reason: "Cancelled"))
            // The connection is not the worse for it.
            fixture.server.answerHeld(200)
            fixture.server.setScript { _ in [.accept] }
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.connections == 1)
        }
    }

    @Test func shutdown() async throws {
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
