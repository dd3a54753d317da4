import Synchronization
import TestSupport
import Testing

@testable import Images

/// Who is given of what there is not enough of, and when.
@Suite struct AllowanceTests {
    @Test func whoAsksForMuchIsNotPassedByWhoAsksForLittle() async throws {
        let allowance = Allowance(of: 10, places: 5)
        let (first, much, little) = (Stay(), Stay(), Stay())
        let one = Task { try await allowance.with(6) { () throws(ImageError) in await first.stay() } }
        try await eventually { first.hasBegun }
        let two = Task { try await allowance.with(8) { () throws(ImageError) in await much.stay() } }
        try await eventually { await allowance.waiting == 1 }
        let three = Task { try await allowance.with(2) { () throws(ImageError) in await little.stay() } }
        try await eventually { await allowance.waiting == 2 }
        #expect(!much.hasBegun && !little.hasBegun)
        first.end()
        // Both fit now.
        try await eventually { much.hasBegun && little.hasBegun }
        much.end()
        little.end()
        for task in [one, two, three] {
            try await task.value
        }
    }

    @Test func whoGivesUpMakesWayForThoseBehindHim() async throws {
        let allowance = Allowance(of: 10, places: 5)
        let (first, little) = (Stay(), Stay())
        let one = Task { try await allowance.with(6) { () throws(ImageError) in await first.stay() } }
        try await eventually { first.hasBegun }
        let much = Task { try await allowance.with(8) { () throws(ImageError) in } }
        try await eventually { await allowance.waiting == 1 }
        let two = Task { try await allowance.with(4) { () throws(ImageError) in await little.stay() } }
        try await eventually { await allowance.waiting == 2 }
        much.cancel()
        await #expect(throws: ImageError.cancelled) { try await much.value }
        try await eventually { little.hasBegun }
        first.end()
        little.end()
        try await one.value
        try await two.value
        // All of it is there again.
        try await allowance.with(10) { () throws(ImageError) in }
    }
}

/// What lasts until it is told to end.
private final class Stay: Sendable {
    private let (ends, ending) = AsyncStream<Void>.makeStream()
    private let begun = Atomic(false)

    var hasBegun: Bool { begun.load(ordering: .relaxed) }

    func stay() async {
        begun.store(true, ordering: .relaxed)
        for await _ in ends {}
    }

    func end() { ending.finish() }
}
