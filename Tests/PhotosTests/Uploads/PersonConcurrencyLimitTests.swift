@testable import PhotosServer
import TestSupport
import Testing
import Wire

@Suite("Concurrency limit per user") struct PersonConcurrencyLimitTests {
    private let ann = Person.ID(1)
    private let bob = Person.ID(2)

    @Test("Requests of one user run in order, and another user does not wait")
    func perUserOrder() async throws {
        let limit = PersonConcurrencyLimit()
        try await limit.acquire(ann)
        // Bo does not wait for Ana.
        try await limit.acquire(bob)
        let order = SharedValue<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 1...3 {
            tasks.append(
                Task {
                    try await limit.acquire(ann)
                    order.change { $0.append(number) }
                    await limit.release(ann)
                }
            )
            try await eventually { await limit.waiting(for: ann) == number }
        }
        #expect(order.value.isEmpty)
        await limit.release(ann)
        for task in tasks { try await task.value }
        #expect(order.value == [1, 2, 3])
        await limit.release(bob)
        // The queue is empty.
        try await limit.acquire(ann)
    }

    @Test("A cancelled request leaves the queue")
    func cancellation() async throws {
        let limit = PersonConcurrencyLimit()
        try await limit.acquire(ann)
        let given = Task { try await limit.acquire(ann) }
        try await eventually { await limit.waiting(for: ann) == 1 }
        let last = Task { try await limit.acquire(ann) }
        try await eventually { await limit.waiting(for: ann) == 2 }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        await limit.release(ann)
        try await last.value
    }
}
