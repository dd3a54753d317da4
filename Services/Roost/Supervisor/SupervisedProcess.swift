import ChildProcesses
import Foundation
import Glibc
import Locks
import Wire

/// One process that is kept running until it is told to stop.
final class SupervisedProcess: Sendable {
    /// What is run and how it is stopped.
    struct Configuration: Sendable {
        /// When a process is stopped: those of one stage at once, each stage when the one before it is gone.
        enum Stage: CaseIterable, Sendable {
            /// What people connect to: nobody asks those behind it for anything any more once it is gone.
            case front
            case services
            /// What those cannot do without.
            case base
        }

        let name: String
        let stage: Stage
        /// Asks the process to stop cleanly.
        var stopSignal = SIGTERM
        /// Ends it when that takes too long.
        var forceSignal = SIGKILL
        /// How long a clean stop may take.
        let stopLimit: Duration
        /// The base URL of its `/health`; nil for a process that has none.
        var healthURL: String?
        /// How long a process that has answered before may be silent until it is killed.
        var livenessTimeout = Duration.seconds(30)
        let launch: @Sendable (Exits) async throws -> ChildProcess
    }

    /// The ends that nobody had asked for.
    struct Exits: Sendable {
        var count = 0
        /// As `ended with signal 11`.
        var last = ""
        /// As `signal 11`.
        var lastReason = ""
        var lastTime = ""
        fileprivate var recent: [Date] = []

        /// What the next process is told of those before it.
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

        /// What is said of a process that ends again and again.
        fileprivate var loop: String {
            recent.count < ExitLog.loopCount
                ? "" : " (ended \(recent.count) times in \(Int(ExitLog.window) / 60) minutes)"
        }
    }

    private struct State {
        var child: ChildProcess?
        var isStopping = false
        var isUnresponsive = false
        var exits = Exits()
        var pause: Task<Void, Never>?
    }

    /// Questions within the limit of silence.
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

    /// Starts the process, and again whenever it ends; returns once it was told to stop and has.
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
                end = "ended with \(reason)"
                registry.began(name, nil)
            } catch {
                // What went wrong may name paths; this is shown to everybody.
                reason = "could not be started"
                end = "could not be started: \(error)"
            }
            let (ended, ran) = (Date(), ContinuousClock.now - began)
            let (isStopping, loop) = state.withLock { state in
                state.child = nil
                if state.isUnresponsive { reason += ", after it was silent for \(configuration.livenessTimeout)" }
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
            console.report("roost: \(name) \(end); starting it again" + (pause == .zero ? "" : " in \(pause)") + loop)
            await wait(pause)
        }
    }

    /// Stops the process cleanly, by force where that takes too long, and returns when it is gone.
    func stop() async {
        guard let child = beginStopping() else {
            return
        }
        child.signal(configuration.stopSignal)
        child.closeInput()
        if await child.exit(within: configuration.stopLimit) != nil {
            return
        }
        console.report("roost: \(name) does not stop within \(configuration.stopLimit); ending it")
        child.signal(configuration.forceSignal)
        if await child.exit(within: .seconds(5)) == nil {
            child.signal(SIGKILL)
        }
        _ = await child.exit()
    }

    /// Ends the process now.
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

    /// Kills the process when it no longer answers.
    ///
    /// What is counted are questions without an answer, not time: a machine that was suspended asks none. A process that
    /// has not answered yet still starts, which may take as long as its migrations do.
    private func watch(_ child: ChildProcess, at url: String) async {
        let interval = configuration.livenessTimeout / Self.checksPerTimeout
        var hasAnswered = false
        var unanswered = 0
        while unanswered < Self.checksPerTimeout {
            let asked = ContinuousClock.now
            if await Readiness.isAlive(url, within: interval) {
                (hasAnswered, unanswered) = (true, 0)
            } else if hasAnswered {
                unanswered += 1
            }
            do { try await Task.sleep(until: asked + interval) } catch { return }
        }
        let isOver = state.withLock { state in
            let isOver = state.isStopping || child.status != nil
            if !isOver { state.isUnresponsive = true }
            return isOver
        }
        guard !isOver else { return }
        console.report("roost: \(name) has not answered for \(configuration.livenessTimeout); killing it")
        child.signal(SIGKILL)
    }

    private func adopt(_ child: ChildProcess) {
        registry.began(name, child.identity)
        let isStopping = state.withLock { state in
            state.child = child
            return state.isStopping
        }
        if isStopping {
            // Told to stop while it was being started.
            child.signal(configuration.stopSignal)
            child.closeInput()
        }
    }

    private func wait(_ pause: Duration) async {
        // Silence: cancelled means told to stop.
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
