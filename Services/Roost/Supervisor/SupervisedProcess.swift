import ChildProcesses
import Foundation
import Glibc
import Locks
import Wire

final class SupervisedProcess: Sendable {
    struct Configuration: Sendable {
        /// The stage in which a process stops: all processes of a stage together, after those of the stage before.
        enum Stage: CaseIterable, Sendable {
            /// Processes that clients connect to; when they have exited, the services receive no more requests.
            case front
            case services
            /// Processes that the services depend on.
            case base
        }

        let name: String
        let stage: Stage
        var stopSignal = SIGTERM
        /// The signal when a clean stop takes too long.
        var forceSignal = SIGKILL
        let stopLimit: Duration
        /// The base URL of `/health`; nil for a process without it.
        var healthURL: String?
        /// The time without a response after which a process that has responded before is killed.
        var livenessTimeout = Duration.seconds(30)
        let launch: @Sendable (Exits) async throws -> ChildProcess
    }

    /// The unexpected exits of a process.
    struct Exits: Sendable {
        var count = 0
        /// For example `exited with signal 11`.
        var last = ""
        /// For example `signal 11`.
        var lastReason = ""
        var lastTime = ""
        fileprivate var recent: [Date] = []

        /// The environment variables that describe earlier exits to the next process.
        var environment: [String: String] {
            guard count > 0 else { return ["SUPERVISED_RESTARTS": "0"] }
            return [
                "SUPERVISED_RESTARTS": "\(count)", "SUPERVISED_LAST_EXIT": lastReason,
                "SUPERVISED_LAST_EXIT_AT": lastTime,
            ]
        }

        fileprivate mutating func add(_ end: String, reason: String, at time: Date) {
            count += 1
            last = end
            lastReason = reason
            lastTime = Timestamp.string(from: time)
            recent = recent.filter { time.timeIntervalSince($0) < ExitLog.window } + [time]
        }

        /// The note about a crash loop, or an empty string.
        fileprivate var loop: String {
            recent.count < ExitLog.loopCount
                ? "" : " (exited \(recent.count) times in \(Int(ExitLog.window) / 60) minutes)"
        }
    }

    private struct State {
        var child: ChildProcess?
        var isStopping = false
        var isUnresponsive = false
        var exits = Exits()
        var pause: Task<Void, Never>?
    }

    /// The number of checks within the liveness timeout.
    private static let checksPerTimeout = 10

    let configuration: Configuration
    private let console: Console
    private let registry: ProcessRegistry
    private let exitLog: ExitLog
    private let state = Lock(State())

    init(_ configuration: Configuration, console: Console, registry: ProcessRegistry, exitLog: ExitLog) {
        self.configuration = configuration
        self.console = console
        self.registry = registry
        self.exitLog = exitLog
    }

    var name: String { configuration.name }
    var exits: Exits { state.withLock(\.exits) }

    /// Starts the process, and restarts it whenever it exits; returns when it was stopped and has exited.
    func run() async {
        var backoff = Backoff()
        while !state.withLock(\.isStopping) {
            let began = ContinuousClock.now
            let end: String
            var reason: String
            do {
                let child = try await configuration.launch(exits)
                adopt(child)
                let watching = configuration.healthURL.map { url in Task { await watch(child, at: url) } }
                reason = "\(await child.exit())"
                watching?.cancel()
                end = "exited with \(reason)"
                registry.began(name, nil)
            } catch {
                // The error may contain paths, and `/status` publishes the reason.
                reason = "failed to start"
                end = "failed to start: \(error)"
            }
            let (ended, ran) = (Date(), ContinuousClock.now - began)
            let (isStopping, loop) = state.withLock { state in
                state.child = nil
                if state.isUnresponsive { reason += ", after no response for \(configuration.livenessTimeout)" }
                state.isUnresponsive = false
                if !state.isStopping { state.exits.add(end, reason: reason, at: ended) }
                return (state.isStopping, state.exits.loop)
            }
            guard !isStopping else {
                return
            }
            let time = Timestamp.string(from: ended)
            exitLog.append(ExitRecord(time: time, process: name, end: reason, seconds: ran / .seconds(1)))
            let pause = backoff.pause(afterRunning: ran)
            console.report("roost: \(name) \(end); restarting" + (pause == .zero ? "" : " in \(pause)") + loop)
            await wait(pause)
        }
    }

    /// Stops the process cleanly, or by force after the time limit, and returns when it has exited.
    func stop() async {
        guard let child = beginStopping() else {
            return
        }
        child.signal(configuration.stopSignal)
        child.closeInput()
        if await child.exit(within: configuration.stopLimit) != nil {
            return
        }
        console.report("roost: \(name) has not stopped within \(configuration.stopLimit); killing it")
        child.signal(configuration.forceSignal)
        if await child.exit(within: .seconds(5)) == nil {
            child.signal(SIGKILL)
        }
        _ = await child.exit()
    }

    func force() {
        beginStopping()?.signal(configuration.forceSignal)
    }

    @discardableResult
    private func beginStopping() -> ChildProcess? {
        let (child, pause) = state.withLock { state in
            state.isStopping = true
            return (state.child, state.pause)
        }
        pause?.cancel()
        return child
    }

    /// Kills the process when it no longer responds.
    ///
    /// Unanswered checks are counted, not time, because a suspended machine sends no checks. A process that has not
    /// responded yet is still starting, which may take as long as its migrations.
    private func watch(_ child: ChildProcess, at url: String) async {
        let interval = configuration.livenessTimeout / Self.checksPerTimeout
        var hasAnswered = false
        var unanswered = 0
        while unanswered < Self.checksPerTimeout {
            let checked = ContinuousClock.now
            if await Readiness.isAlive(url, within: interval) {
                (hasAnswered, unanswered) = (true, 0)
            } else if hasAnswered {
                unanswered += 1
            }
            do { try await Task.sleep(until: checked + interval) } catch { return }
        }
        let isOver = state.withLock { state in
            let isOver = state.isStopping || child.status != nil
            if !isOver { state.isUnresponsive = true }
            return isOver
        }
        guard !isOver else { return }
        console.report("roost: \(name) has not responded for \(configuration.livenessTimeout); killing it")
        child.signal(SIGKILL)
    }

    private func adopt(_ child: ChildProcess) {
        registry.began(name, child.identity)
        let isStopping = state.withLock { state in
            state.child = child
            return state.isStopping
        }
        if isStopping {
            // The stop was requested while the process was starting.
            child.signal(configuration.stopSignal)
            child.closeInput()
        }
    }

    private func wait(_ pause: Duration) async {
        // A cancellation means that the process is being stopped.
        let sleep = Task { _ = try? await Task.sleep(for: pause) }
        let isStopping = state.withLock { state in
            state.pause = sleep
            return state.isStopping
        }
        if isStopping {
            sleep.cancel()
        }
        await sleep.value
    }
}
