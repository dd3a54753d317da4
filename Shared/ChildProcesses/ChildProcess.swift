import CSpawn
import Foundation
import Glibc
import Locks

/// A process that this one has started.
///
/// Nothing leaks into it but what its command names: descriptors above 2 are closed, no signal is blocked, all have
/// their default action. A thread of its own starts it and waits for it, so it is reaped the moment it ends, and its
/// id is never signalled after that. The rest of the process group that it leads is killed when it ends.
package final class ChildProcess: Sendable {
    private struct State {
        /// Not `nil` from the moment the process is dead, before its id is given free.
        var status: ExitStatus?
        var input: Int32?
        var waiters: [UInt64: CheckedContinuation<ExitStatus?, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    package let pid: Int32
    /// What tells the process from a later one with the same id; `nil` if it was dead before it could be looked at.
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

    /// How the process ended, or `nil` while it runs.
    package var status: ExitStatus? { state.withLock { $0.status } }

    /// Sends a signal to the process, if it still runs.
    package func signal(_ number: Int32) {
        state.withLock { state in
            if state.status == nil {
                kill(pid, number)
            }
        }
    }

    /// Hands a few bytes to the process, whose command has a `fed` input, without waiting; says whether it took them all.
    ///
    /// What is not read adds up to some hundred kilobytes, and then no more is taken. With the first byte the process receives
    /// at most 8 descriptors as its own.
    package func send(_ bytes: [UInt8], descriptors: [Int32] = []) -> Bool {
        state.withLock { state in
            guard let input = state.input else {
                return false
            }
            return cspawn_send(input, bytes, bytes.count, descriptors, descriptors.count) == bytes.count
        }
    }

    /// Lets the process read end of file from a held input.
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
        // Cancellation is not passed on: whoever asks this way has nothing to go on with before the process is gone.
        await Task { await wait() }.value ?? .code(-1)
    }

    /// Waits until the process has ended, at most as long as said; `nil` if it still runs then.
    package func exit(within limit: Duration) async -> ExitStatus? {
        await withTaskGroup(of: ExitStatus?.self) { group in
            group.addTask { await self.wait() }
            group.addTask {
                // Silence: cancelled means that the process has ended first.
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? status
        }
    }

    /// Waits until the process has ended; `nil` if the task is cancelled first.
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
        // First without reaping: until the state says that the process is dead, its id must not be given to another.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        // What it started and left behind may hold its listening sockets, as `swift-backtrace` did after a trap.
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
    /// Runs the command to its end and answers what it wrote, at most its last 64 kB.
    ///
    /// A child that is still running after the limit is killed.
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
