import Dispatch
import NIOCore
import NIOPosix
import ServiceHost
import Synchronization
import TestSupport
import Testing

/// The detection of stalls; SuiteTests tests the reaction with a real service.
@Suite("Watchdog") struct WatchdogTests {
    private final class Findings: Sendable {
        private let names = Mutex<[String]>([])

        var all: [String] { names.withLock { $0 } }
        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    @Test("A blocked event loop is found, and another one is not reported")
    func loop() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let first = try #require(group.makeIterator().first { _ in true })
        let findings = Findings()
        let release = DispatchSemaphore(value: 0)
        let watchdog = Watchdog(
            "test",
            watching: Watchdog.Subject.loops("loop", of: group),
            limit: .seconds(2),
            stalled: { findings.add($0) }
        )
        let watching = Task { try await watchdog.run() }

        // The test releases it, or the timeout does.
        first.execute { _ = release.wait(timeout: .now() + 60) }

        try await eventually { !findings.all.isEmpty }
        #expect(findings.all == ["loop 0"])
        release.signal()
        watching.cancel()
        try await watching.value
        try await group.shutdownGracefully()
    }

    @Test("A blocked cooperative pool is found")
    func pool() async throws {
        let findings = Findings()
        let isFound = DispatchSemaphore(value: 0)
        let watchdog = Watchdog(
            "test",
            watching: [.cooperativePool],
            limit: .seconds(1),
            stalled: { name in
                findings.add(name)
                for _ in 0..<64 { isFound.signal() }
            }
        )
        let watching = Task { try await watchdog.run() }
        try await Task.sleep(for: .milliseconds(200))

        // More tasks than threads; they end when the watchdog reports the stall.
        for _ in 0..<64 {
            Task.detached(priority: .medium) { isFound.blockingWait() }
        }

        try await eventually { !findings.all.isEmpty }
        #expect(findings.all == ["cooperative pool"])
        watching.cancel()
        try await watching.value
    }
}

extension DispatchSemaphore {
    /// Blocks the thread, which code in a task must not do.
    fileprivate func blockingWait() {
        _ = wait(timeout: .now() + 60)
    }
}
