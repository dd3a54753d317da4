@testable import PhotosServer
import TestSupport
import Testing
import Wire

/// Who has pictures made before whom.
@Suite struct PersonTurnsTests {
    private let ann = Person.ID(1)
    private let bob = Person.ID(2)

    @Test func onesOwnWaitForEachOtherAndForNobodyElse() async throws {
        let turns = PersonTurns()
        try await turns.take(ann)
        // At once, whatever Ann has to be done.
        try await turns.take(bob)
        let order = Shared<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 1...3 {
            tasks.append(
                Task {
                    try await turns.take(ann)
                    order.change { $0.append(number) }
                    await turns.end(ann)
                }
            )
            try await eventually { await turns.waiting(for: ann) == number }
        }
        #expect(order.value.isEmpty)
        await turns.end(ann)
        for task in tasks { try await task.value }
        #expect(order.value == [1, 2, 3])
        await turns.end(bob)
        // Nothing is left of a line.
        try await turns.take(ann)
    }

    @Test func whoGivesUpIsPassedOver() async throws {
        let turns = PersonTurns()
        try await turns.take(ann)
        let given = Task { try await turns.take(ann) }
        try await eventually { await turns.waiting(for: ann) == 1 }
        let last = Task { try await turns.take(ann) }
        try await eventually { await turns.waiting(for: ann) == 2 }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        await turns.end(ann)
        try await last.value
    }
}
