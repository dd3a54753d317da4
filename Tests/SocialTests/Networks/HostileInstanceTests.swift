import NIOCore
import NetworkGuard
import ServiceHost
import TestSupport
import Testing

@testable import SocialServer

/// An instance of a user's choice sends what it likes, as fast as it likes.
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
                // The system's buffers and the client's; nothing else is in between.
                #expect(instance.sent < 64 * Self.megabyte)
                try await eventually("closed") { instance.connections == 0 }
            }
        }
    }

    @Test("A slow reader holds an endless stream of events back")
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

    @Test("A flood of events is read at the pace of a stream")
    func pace() async throws {
        let waits = Shared<[Duration]>([])
        try await HostileInstance.run(sending: "event: delete\ndata: 7\n\n") { instance in
            try await Self.with(instance, pause: { wait in waits.change { $0.append(wait) } }) { mastodon, ann in
                var events = try await mastodon.events(as: ann).makeAsyncIterator()
                for _ in 0..<10_000 { _ = try await events.next() }
            }
        }
        // 10,000 events at sixteen a second, less what may come at once.
        #expect(waits.value.reduce(.zero, +) > .seconds(300))
    }

    @Test("An answer of more than a megabyte is not read")
    func largeAnswer() async throws {
        try await HostileInstance.run(sending: #"{"":0},"#, times: 600_000) { instance in
            try await Self.with(instance) { mastodon, ann in
                let error = await failure { try await mastodon.feed(PageRequest(), as: ann) }

                #expect(error?.kind == .transient)
                #expect(error?.reason.contains("too large") == true)
            }
        }
    }

    @Test("A stream of one account goes on beside hostile ones of others")
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
                    try await eventually("under way") { hostile.sent > Self.megabyte }
                    try await Self.with(good) { mastodon, ann async throws in
                        #expect(try await Self.count(mastodon.events(as: ann)) >= 2_000)
                    }
                    tasks.cancelAll()
                }
            }
        }
    }

    @Test("Reading is linear: a quarter of a megabyte of blank lines takes no time to speak of")
    func linear() throws {
        var reader = EventStreamReader()
        let start = ContinuousClock.now
        let lines = ByteBuffer(repeating: UInt8(ascii: "\n"), count: EventStreamReader.limit)
        let events = try reader.feed(lines)
        #expect(events.isEmpty)
        // Some 0.1 s of a debug build; the reader that removed each line from the front took minutes.
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(throws: NetworkError.self) { _ = try reader.feed(ByteBuffer(string: "\n")) }
    }

    /// Events count against no limit on bytes, however many there are.
    @Test("A stream with events may go on for ever")
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
