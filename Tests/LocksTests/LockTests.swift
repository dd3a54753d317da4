import Testing

@testable import Locks

#if DEBUG
@Suite("Checked locks") struct LockTests {
    final class Pair: Sendable {
        let left = Lock(0)
        let right = Lock([""])
    }

    @Test("A lock gives its value to one closure at a time")
    func exclusion() async {
        let pair = Pair()
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<8 { tasks.addTask { for _ in 0..<1_000 { pair.left.withLock { $0 += 1 } } } }
        }
        #expect(pair.left.withLock { $0 } == 8_000)
    }

    @Test("Locks may be nested in one order, and a thread that has released them holds none")
    func nesting() throws {
        struct Failure: Error {}
        let pair = Pair()
        let sum = pair.left.withLock { left in pair.right.withLock { left + $0.count } }
        #expect(sum == 1)
        #expect(throws: Failure.self) {
            try pair.left.withLock { _ in throw Failure() }
        }
        #expect(pair.right.withLockIfAvailable { $0.count } == 1)
        Locks.assertNoneHeld("return")
    }

    @Test("Taking a lock that the thread holds already ends the process")
    func reentry() async {
        await #expect(processExitsWith: .failure) {
            let pair = Pair()
            pair.left.withLock { _ in pair.left.withLock { _ in } }
        }
    }

    @Test("Holding two locks of one kind ends the process")
    func sameKind() async {
        await #expect(processExitsWith: .failure) {
            let (one, other) = (Pair(), Pair())
            one.left.withLock { _ in other.left.withLock { _ in } }
        }
    }

    @Test("Taking two kinds in both orders ends the process, even if no thread waits for another")
    func inversion() async {
        await #expect(processExitsWith: .failure) {
            let (one, other) = (Pair(), Pair())
            one.left.withLock { _ in one.right.withLock { _ in } }
            other.right.withLock { _ in other.left.withLock { _ in } }
        }
    }

    @Test("An inversion through a third kind ends the process")
    func cycle() async {
        await #expect(processExitsWith: .failure) {
            let first = Lock(1)
            let second = Lock(2)
            let third = Lock(3)
            first.withLock { _ in second.withLock { _ in } }
            second.withLock { _ in third.withLock { _ in } }
            third.withLock { _ in first.withLock { _ in } }
        }
    }

    @Test("Calling out while a lock is held ends the process")
    func callingOut() async {
        await #expect(processExitsWith: .failure) {
            Pair().left.withLock { _ in Locks.assertNoneHeld("resume a continuation") }
        }
    }
}
#endif
