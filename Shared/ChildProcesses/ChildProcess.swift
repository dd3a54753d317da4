import CSpawn
import Foundation
import Glibc
import Locks

/// A process that this process has started.
///
/// Nothing is inherited except for what the command specifies: descriptors above 2 are closed, no signal is blocked,
/// and all signals have their default action. A dedicated thread starts the process and waits for it. The process is
/// therefore reaped immediately, and its id is never signalled afterwards. When it ends, the rest of its process group
/// is killed.
package final class ChildProcess: Sendable {
    private struct State {
        /// The exit status, set when the process is dead and before its id can be reused.
        var status: ExitStatus?
        var input: Int32?
        var waiters: [UInt64: CheckedContinuation<ExitStatus?, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    package let pid: Int32
    /// The identity that distinguishes the process from a later one with the same id; nil if it ended immediately.
    package let identity: ProcessIdentity?
    private let state: Lock<State>

    private init(pid: Int32, input: Int32?) {
        self.pid = pid
        identity = ProcessIdentity(pid: pid)
        state = Lock(State(input: input))
    }

    /// Starts a process; throws if its executable cannot be run.
    package static func start(_ command: ProcessCommand) async throws -> ChildProcess {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                do {
                    let spawned = try Spawn(command).run()
                    let child = ChildProcess(pid: spawned.pid, input: spawned.input)
                    continuation.resume(returning: child)
                    child.reap(leadsGroup: command.leadsGroup)
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            thread.name = "child"
            thread.start()
        }
    }

    /// The exit status; nil while the process runs.
    package var status: ExitStatus? { state.withLock { $0.status } }

    /// Sends a signal to the process if it is still running.
    package func signal(_ number: Int32) {
        state.withLock { state in
            if state.status == nil {
                kill(pid, number)
            }
        }
    }

    /// Writes bytes to a process with a `fed` input without waiting; returns whether all were written.
    ///
    /// About 100 kB of unread bytes are buffered; further writes fail. The process receives the descriptors together
    /// with the first byte.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - descriptors: at most 8 descriptors to pass to the process.
    /// - Returns: whether all bytes were written.
    package func send(_ bytes: [UInt8], descriptors: [Int32] = []) -> Bool {
        state.withLock { state in
            guard let input = state.input else {
                return false
            }
            return cspawn_send(input, bytes, bytes.count, descriptors, descriptors.count) == bytes.count
        }
    }

    /// Closes a held input, so that the process reads end of file.
    package func closeInput() {
        let input = state.withLock { state in
            defer { state.input = nil }
            return state.input
        }
        if let input {
            close(input)
        }
    }

    /// Waits until the process has ended.
    package func exit() async -> ExitStatus {
        // Cancellation is ignored, because the caller cannot continue before the process has ended.
        await Task { await wait() }.value ?? .code(-1)
    }

    /// Waits until the process has ended, at most for the time limit; returns nil if it is still running.
    package func exit(within limit: Duration) async -> ExitStatus? {
        await withTaskGroup(of: ExitStatus?.self) { group in
            group.addTask { await self.wait() }
            group.addTask {
                // Cancellation means that the process ended first.
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? status
        }
    }

    /// Waits until the process has ended; returns nil if the task is cancelled first.
    package func wait() async -> ExitStatus? {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended = state.withLock { state -> (now: Bool, status: ExitStatus?) in
                    guard state.status == nil, !Task.isCancelled else {
                        return (true, state.status)
                    }
                    state.waiters[waiter] = continuation
                    return (false, nil)
                }
                if ended.now {
                    continuation.resume(returning: ended.status)
                }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(returning: nil)
        }
    }

    private func reap(leadsGroup: Bool) {
        var info = siginfo_t()
        // WNOWAIT keeps the dead process's id reserved until the state records its end.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        // Its remaining children may hold its listening sockets, as `swift-backtrace` did after a trap.
        if leadsGroup { kill(-pid, SIGKILL) }
        let waiters = state.withLock { state in
            var raw: Int32 = 0
            while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
            let status: ExitStatus = raw & 0x7f == 0 ? .code(raw >> 8 & 0xff) : .signal(raw & 0x7f)
            state.status = status
            defer { state.waiters = [:] }
            return state.waiters.values.map { ($0, status) }
        }
        closeInput()
        for (waiter, status) in waiters {
            waiter.resume(returning: status)
        }
    }
}

extension ProcessCommand {
    /// Runs the command to its end and returns the status and the last 64 kB of its output.
    ///
    /// A process that exceeds the limit is killed.
    ///
    /// - Parameter limit: the time limit.
    /// - Returns: the status and the output.
    /// - Throws: a `ProcessError` if the command cannot be started.
    package func run(within limit: Duration) async throws -> (status: ExitStatus, output: String) {
        let collected = Lock<[UInt8]>([])
        let (drained, end) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingNewest(1))
        var command = self
        command.output = .chunks { chunk in
            guard !chunk.isEmpty else {
                return end.finish()
            }
            collected.withLock { collected in
                collected += chunk
                collected.removeFirst(max(0, collected.count - 65_536))
            }
        }
        let child = try await ChildProcess.start(command)
        if await child.exit(within: limit) == nil {
            child.signal(SIGKILL)
        }
        let status = await child.exit()
        for await _ in drained {}
        return (status, String(decoding: collected.withLock { $0 }, as: UTF8.self))
    }
}
