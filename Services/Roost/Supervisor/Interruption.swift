import ArgumentParser
import Glibc
import Synchronization

/// Work that Ctrl-C and SIGTERM cancel instead of ending the process, so that the work can clean up.
enum Interruption {
    /// Runs the work, and exits with 130 if it was interrupted.
    static func cancellable(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let signals = Signals([SIGINT, SIGTERM, SIGHUP])
        let isInterrupted = Atomic<Bool>(false)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await work()
                return true
            }
            group.addTask {
                for await _ in signals {
                    return false
                }
                return false
            }
            do {
                if try await group.next() == false {
                    isInterrupted.store(true, ordering: .relaxed)
                    group.cancelAll()
                    while try await group.next() != nil {}
                }
                group.cancelAll()
            } catch {
                guard isInterrupted.load(ordering: .relaxed) else {
                    throw error
                }
            }
        }
        if isInterrupted.load(ordering: .relaxed) {
            throw ExitCode(130)
        }
    }
}
