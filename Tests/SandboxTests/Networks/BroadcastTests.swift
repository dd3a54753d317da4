import Foundation
import SandboxServer
import Testing

/// The ids of what is live, by which others know what they have told already.
@Suite(.timeLimit(.minutes(1))) struct BroadcastTests {
    /// What is live at a start, and what begins afterwards.
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

    @Test func newIDsAfterRestart() async throws {
        let now = Date()
        let first = try await Self.streams(startedAt: now)
        let second = try await Self.streams(startedAt: now.addingTimeInterval(1))

        #expect(first.seeded.count == 3)
        #expect(second.seeded == first.seeded)
        #expect(second.new != first.new)
        #expect(!first.seeded.contains(first.new))
    }
}
