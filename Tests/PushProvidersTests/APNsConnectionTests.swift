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

    @Test func noMoreRequestsAreUnderWayThanAppleAllows() async throws {
        try await withAPNs(
            settings: [.streams(3)],
            configure: { $0.connections = 1 },
            answering: Self.answering(every: 3)
        ) { scene in
            let replies = await scene.send(times: 60)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(scene.server.peak == 3)
            #expect(scene.server.connections == 1)
        }
    }

    @Test func oneAtATimeUntilTheTokenIsAccepted() async throws {
        let rest = Self.answering(every: 20)
        try await withAPNs(
            settings: [.streams(1)],
            configure: { $0.connections = 1 },
            answering: { request in
                request.number == 1 ? [.accept, .settings([.streams(20)])] : rest(request)
            }
        ) { scene in
            let replies = await scene.send(times: 21)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(scene.server.requests.first?.open == 1)
            #expect(scene.server.peak == 20)
        }
    }

    @Test func severalConnectionsShareTheLoad() async throws {
        try await withAPNs(
            settings: [.streams(100)],
            configure: { $0.connections = 3 },
            answering: { _ in
                [.hold]
            }
        ) { scene in
            async let replies = scene.send(times: 400)
            try await eventually(within: .seconds(30)) { scene.server.held == 300 }
            #expect(scene.server.connections == 3)
            #expect(scene.server.peak == 100)
            scene.server.play { _ in [.accept] }
            scene.server.answerHeld(200)

            #expect(await replies.filter { $0.outcome == .accepted }.count == 400)
            #expect(scene.server.connections == 3)
        }
    }

    @Test func whatAGoodByeLeavesIsSentAgainAndNothingTwice() async throws {
        let taken = Mutex<[String: Int]>([:])
        try await withAPNs(
            configure: { $0.connections = 1 },
            answering: { request in
                let id = request.fields["apns-id"] ?? ""
                let acceptance = {
                    taken.withLock { $0[id, default: 0] += 1 }
                    return HTTP2Server.Act.accept
                }
                guard request.connection == 1 else { return [acceptance()] }
                switch Int(request.stream) {
                case ..<40: return [acceptance()]
                // The good-bye goes out when some that it leaves are on their way already.
                case 79: return [.goAway(last: 39, word: #"{"reason":"Shutdown"}"#)]
                default: return []
                }
            }
        ) { scene in
            let replies = await scene.send(times: 200)

            #expect(replies.filter { $0.outcome == .accepted }.count == 200)
            #expect(taken.withLock { $0.count } == 200)
            #expect(taken.withLock { $0.values.allSatisfy { $0 == 1 } })
            #expect(scene.server.connections == 2)
        }
    }

    @Test func goodByesWithoutEndAreNoLoop() async throws {
        try await withAPNs(answering: { _ in
            [.goAway(last: 0)]
        }) { scene in
            let reply = await scene.send()

            #expect(reply == PushReply(.providerBusy, reason: "ConnectionLost: returned"))
            #expect(scene.server.requests.count == 4)
        }
    }

    @Test func aRefusedStreamIsSentAgain() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .reset(.refusedStream) : .accept]
        }) { scene in
            #expect(await scene.send().outcome == .accepted)
            #expect(scene.server.requests.count == 2)
            #expect(scene.server.connections == 1)
        }
    }

    /// NIO takes 200 in half a minute for an attack, as they would be on a server.
    @Test func manyRefusedStreamsAreNoAttack() async throws {
        try await withAPNs(
            configure: { $0.connections = 1 },
            answering: { request in
                [request.number <= 300 ? .reset(.refusedStream) : .accept]
            }
        ) { scene in
            let replies = await scene.send(times: 400)

            #expect(replies.filter { $0.outcome == .accepted }.count == 400)
            #expect(scene.server.requests.count == 700)
            #expect(scene.server.connections == 1)
        }
    }

    @Test func aResetStreamIsNotSentAgainAndHoldsNothingUp() async throws {
        try await withAPNs(answering: { request in
            [request.path.hasSuffix("00") ? .reset(.internalError) : .accept]
        }) { scene in
            let replies = await scene.send(times: 10)

            #expect(replies[0].outcome == .providerBusy)
            #expect(replies[0].reason?.hasPrefix("ConnectionLost: reset") == true)
            #expect(replies.dropFirst().allSatisfy { $0.outcome == .accepted })
            #expect(scene.server.requests.count == 10)
        }
    }

    @Test func oneThatIsNeverAnsweredEndsAtItsTime() async throws {
        try await withAPNs(
            configure: { $0.requestTimeout = .seconds(10) },
            answering: { request in
                request.path.hasSuffix("00") ? [] : [.accept]
            }
        ) { scene in
            let began = ContinuousClock.now
            let replies = await scene.send(times: 10)

            #expect(replies[0] == PushReply(.providerBusy, reason: "NoResponse"))
            #expect(replies.dropFirst().allSatisfy { $0.outcome == .accepted })
            #expect(ContinuousClock.now - began < .seconds(60))
        }
    }

    @Test func aDeafConnectionIsReplaced() async throws {
        try await withAPNs(
            configure: { $0.requestTimeout = .seconds(10) },
            answering: { request in
                request.connection == 1 && request.number > 1 ? [.deafen] : [.accept]
            }
        ) { scene in
            #expect(await scene.send().outcome == .accepted)
            #expect(await scene.send().reason == "NoResponse")
            #expect(await scene.send().outcome == .accepted)
            #expect(scene.server.connections == 2)
        }
    }

    @Test func aLostConnectionLosesWhatWasUnderWayAndNoMore() async throws {
        try await withAPNs(answering: { request in
            request.number == 1 ? [.close] : [.accept]
        }) { scene in
            #expect(await scene.send() == PushReply(.providerBusy, reason: "ConnectionLost"))
            #expect(await scene.send().outcome == .accepted)
        }
    }

    @Test func whereNobodyListensIsSaidBeforeTheTimeIsUp() async throws {
        try await withAPNs(configure: { $0.productionURL = "https://127.0.0.1:1" }) { scene in
            let replies = await scene.send(times: 100)

            #expect(replies.allSatisfy { $0 == PushReply(.providerBusy, reason: "Unreachable") })
        }
    }

    @Test func anAuthorityThatIsNotTrustedIsNotTalkedTo() async throws {
        try await withAPNs(configure: { $0.trustedAuthorities = nil }) { scene in
            #expect(await scene.send() == PushReply(.providerBusy, reason: "Unreachable"))
            #expect(scene.server.requests.isEmpty)
        }
    }

    @Test func whoWaitsNoLongerIsLetGo() async throws {
        try await withAPNs(answering: { _ in
            [.hold]
        }) { scene in
            let task = Task { await scene.send() }
            try await eventually(within: .seconds(30)) { scene.server.held == 1 }
            task.cancel()

            #expect(await task.value == PushReply(.providerBusy, reason: "Cancelled"))
            // The connection is not the worse for it.
            scene.server.answerHeld(200)
            scene.server.play { _ in [.accept] }
            #expect(await scene.send().outcome == .accepted)
            #expect(scene.server.connections == 1)
        }
    }

    @Test func theEndWaitsForAnswers() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .hold : .accept]
        }) { scene in
            async let reply = scene.send()
            try await eventually(within: .seconds(30)) { scene.server.held == 1 }
            async let end: Void = scene.client.shutdown()
            try await eventually { await scene.send() == PushReply(.providerBusy, reason: "ShutDown") }
            scene.server.answerHeld(200)

            #expect(await reply.outcome == .accepted)
            await end
        }
    }
}
