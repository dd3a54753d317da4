import ServiceHost
import Synchronization
import Testing

@Suite("Deletion of expired rows") struct DeleteExpiredTests {
    private struct TestError: Error {}

    /// Expired rows, some of which cannot be deleted; a batch has three.
    private final class Store: Sendable {
        let due: Mutex<[Int]>
        let attempts = Mutex(0)
        private let stays: @Sendable (Int) -> Bool

        init(_ count: Int, _ stays: @escaping @Sendable (Int) -> Bool) {
            due = Mutex(Array(0..<count))
            self.stays = stays
        }

        func sweep() async throws {
            try await deleteExpired { limit in
                due.withLock { Array($0.prefix(limit)) }
            } _: { failed in
                due.withLock { due in
                    let batch = due.prefix(3 + failed.count).filter { !failed.contains($0) }
                    attempts.withLock { $0 += batch.count }
                    due.removeAll { batch.contains($0) && !stays($0) }
                    return Dictionary(uniqueKeysWithValues: batch.filter(stays).map { ($0, TestError()) })
                }
            }
        }
    }

    @Test("All expired rows are deleted")
    func deletesAll() async throws {
        let store = Store(20) { _ in false }
        try await store.sweep()
        #expect(store.due.withLock { $0 } == [])
    }

    @Test("Rows that cannot be deleted do not stop the others")
    func continuesAfterFailure() async throws {
        let store = Store(40) { [0, 1, 2, 7, 39].contains($0) }
        await #expect(throws: TestError.self) { try await store.sweep() }
        #expect(store.due.withLock { $0 } == [0, 1, 2, 7, 39])
    }

    @Test("The deletion stops after many failures")
    func stopsAfterManyFailures() async throws {
        let store = Store(1_000) { _ in true }
        await #expect(throws: TestError.self) { try await store.sweep() }
        #expect(store.attempts.withLock { $0 } == 12)
    }
}
