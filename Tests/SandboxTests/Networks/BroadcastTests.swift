import Foundation
import SandboxServer
import Testing

/// The IDs of live broadcasts, by which clients recognize broadcasts that they have notified.
@Suite("Live broadcasts", .timeLimit(.minutes(1))) struct BroadcastTests {
    /// Returns the IDs of the broadcasts at the start, and of one that begins later.
    private static func streams(startedAt date: Date) async throws -> (seeded: [String], new: String) {
        var started: (seeded: [String], new: String)?
        try await withSandbox(
            { $0.now = { date } },
            test: { fixture in
                let broadcasts = fixture.sandbox.networks.live
                started = (broadcasts.live.map(\.id), broadcasts.begin("cellist").id)
            }
        )
        return try #require(started)
    }

    @Test("A broadcast that begins after a restart has a new ID")
    func restart() async throws {
        let now = Date()
        let first = try await Self.streams(startedAt: now)
        let second = try await Self.streams(startedAt: now.addingTimeInterval(1))

        #expect(first.seeded.count == 3)
        #expect(second.seeded == first.seeded)
        #expect(second.new != first.new)
        #expect(!first.seeded.contains(first.new))
    }
}
