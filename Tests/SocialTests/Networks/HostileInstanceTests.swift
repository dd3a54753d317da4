import NIOCore
import NetworkGuard
import ServiceHost
import TestSupport
import Testing

@testable import SocialServer

/// Users can link any instance, which may send anything at any speed.
@Suite("Hostile instances") struct HostileInstanceTests {
    private static let megabyte = 1_048_576

    @Test(
        "A stream that sends bytes without an event is ended",
        arguments: ["\n", "\r\n", ":\n", ":thump\n", "a", "data: a\n", "event: update\n\n", "\u{0}", "data:\n:\n"]
    )
    func withoutEvents(_ piece: String) async throws {
        try await HostileInstance.run(sending: piece) { instance in
            try await Self.with(instance) { mastodon, ann in
                let error = await failure { try await Self.count(mastodon.events(as: ann)) }

                #expect(error?.kind == .transient)
                // Only the buffers of the system and the client are in between.
                #expect(instance.sent < 64 * Self.megabyte)
                try await eventually("closed") { instance.connections == 0 }
            }
        }
    }

    @Test("A slow reader stops an endless stream of events")
    func backPressure() async throws {
        try await HostileInstance.run(sending: "event: delete\ndata: 7\n\n") { instance in
            try await Self.with(instance) { mastodon, ann in
                var events = try await mastodon.events(as: ann).makeAsyncIterator()
                for _ in 0..<3 {
                    let event = try await events.next()
                    #expect(event != nil)
                }

                try await eventually("held back") {
                    let sent = instance.sent
                    // Without this the test would fill the machine's memory, where nothing holds back.
                    guard sent < 256 * Self.megabyte else { throw TestSupportError("\(sent) bytes were taken") }
                    try await Task.sleep(for: .milliseconds(200))
                    return instance.waiting == 1 && instance.sent == sent
                }
                let event = try await events.next()
                #expect(event != nil)
            }
        }
    }

    @Test("A flood of events is read at a limited rate")
    func pace() async throws {
        let waits = Shared<[Duration]>([])
        try await HostileInstance.run(sending: "event: delete\ndata: 7\n\n") { instance in
            try await Self.with(instance, pause: { wait in waits.change { $0.append(wait) } }) { mastodon, ann in
                var events = try await mastodon.events(as: ann).makeAsyncIterator()
                for _ in 0..<10_000 { _ = try await events.next() }
            }
        }
        // The rate is 16 events per second after an initial burst.
        #expect(waits.value.reduce(.zero, +) > .seconds(300))
    }

    @Test("A response of more than a megabyte is not read")
    func largeResponse() async throws {
        try await HostileInstance.run(sending: #"{"":0},"#, times: 600_000) { instance in
            try await Self.with(instance) { mastodon, ann in
                let error = await failure { try await mastodon.feed(PageRequest(), as: ann) }

                #expect(error?.kind == .transient)
                #expect(error?.reason.contains("too large") == true)
            }
        }
    }

    @Test("A stream of one account continues beside hostile ones")
    func others() async throws {
        try await HostileInstance.run(sending: "\n") { hostile in
            try await HostileInstance.run(sending: "event: delete\ndata: 7\n\n", times: 2_000) { good in
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<8 {
                        tasks.addTask {
                            try await Self.with(hostile) { mastodon, ann in
                                while !Task.isCancelled {
                                    _ = await failure { try await Self.count(mastodon.events(as: ann)) }
                                }
                            }
                        }
                    }
                    try await eventually("started") { hostile.sent > Self.megabyte }
                    try await Self.with(good) { mastodon, ann async throws in
                        #expect(try await Self.count(mastodon.events(as: ann)) >= 2_000)
                    }
                    tasks.cancelAll()
                }
            }
        }
    }

    @Test("Reading a quarter of a megabyte of blank lines takes linear time")
    func linear() throws {
        var reader = EventStreamReader()
        let start = ContinuousClock.now
        let lines = ByteBuffer(repeating: UInt8(ascii: "\n"), count: EventStreamReader.limit)
        let events = try reader.feed(lines)
        #expect(events.isEmpty)
        // A debug build takes about 0.1 s. A reader that removed each line from the front took minutes.
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(throws: NetworkError.self) { _ = try reader.feed(ByteBuffer(string: "\n")) }
    }

    @Test("A stream with events has no limit on its total size")
    func manyEvents() throws {
        var reader = EventStreamReader()
        let piece = ByteBuffer(string: String(repeating: ":\nevent: update\ndata: {}\n\n", count: 1_000))
        for _ in 0..<50 {
            let events = try reader.feed(piece)
            #expect(events.count == 1_000)
        }
    }

    private static func with(
        _ instance: HostileInstance,
        pause: @escaping Pause = noPause,
        _ body: (MastodonConnector, NetworkAccount) async throws -> Void
    ) async throws {
        let connections = try OutboundConnections(trustedCA: nil)
        let http = OutsideHTTP(reach: .userSupplied(AddressGuard(allowing: [instance.place])), connections: connections)
        let parts = ConnectorParts(
            key: ApplicationKey(baseURL: "", id: nil, secret: nil),
            http: http,
            now: { testNow }
        )
        do {
            try await body(MastodonConnector(parts, pause: pause), .ann(instance: instance.url))
        } catch {
            await connections.shutdown()
            throw error
        }
        await connections.shutdown()
    }

    private static func count(_ events: PulledSequence<NetworkEvent>) async throws -> Int {
        var count = 0
        for try await _ in events { count += 1 }
        return count
    }
}
