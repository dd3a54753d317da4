import Synchronization
import TestSupport
import Testing

@testable import Images

@Suite("Concurrency limit by weight") struct ConcurrencyLimitTests {
    @Test("Waiting requests start in order, even if a later one would fit")
    func firstComeFirstServed() async throws {
        let limit = ConcurrencyLimit(of: 10, queueLimit: 5)
        let (first, large, small) = (BlockingTask(), BlockingTask(), BlockingTask())
        let one = Task { try await limit.with(6) { () throws(ImageError) in await first.run() } }
        try await eventually { first.hasStarted }
        let two = Task { try await limit.with(8) { () throws(ImageError) in await large.run() } }
        try await eventually { await limit.waiting == 1 }
        let three = Task { try await limit.with(2) { () throws(ImageError) in await small.run() } }
        try await eventually { await limit.waiting == 2 }
        #expect(!large.hasStarted)
        #expect(!small.hasStarted)
        first.end()
        // Both requests fit now.
        try await eventually { large.hasStarted && small.hasStarted }
        large.end()
        small.end()
        for task in [one, two, three] {
            try await task.value
        }
    }

    @Test("Cancelling a waiting request lets the next one start")
    func cancellation() async throws {
        let limit = ConcurrencyLimit(of: 10, queueLimit: 5)
        let (first, small) = (BlockingTask(), BlockingTask())
        let one = Task { try await limit.with(6) { () throws(ImageError) in await first.run() } }
        try await eventually { first.hasStarted }
        let large = Task { try await limit.with(8) { () throws(ImageError) in } }
        try await eventually { await limit.waiting == 1 }
        let two = Task { try await limit.with(4) { () throws(ImageError) in await small.run() } }
        try await eventually { await limit.waiting == 2 }
        large.cancel()
        await #expect(throws: ImageError.cancelled) { try await large.value }
        try await eventually { small.hasStarted }
        first.end()
        small.end()
        try await one.value
        try await two.value
        // The whole capacity is available again.
        try await limit.with(10) { () throws(ImageError) in }
    }
}

/// A task that runs until `end()` is called.
private final class BlockingTask: Sendable {
    private let (ends, ending) = AsyncStream<Void>.makeStream()
    private let started = Atomic(false)

    var hasStarted: Bool { started.load(ordering: .relaxed) }

    func run() async {
        started.store(true, ordering: .relaxed)
        for await _ in ends {}
    }

    func end() { ending.finish() }
}
