import ChildProcesses
import Glibc
import Synchronization

/// One process that is kept running until it is told to stop.
final class Supervised: Sendable {
    /// What is run and how it is stopped.
    struct Charge: Sendable {
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
        let launch: @Sendable () async throws -> ChildProcess
    }

    private struct State {
        var child: ChildProcess?
        var isStopping = false
        var ends = 0
        var lastEnd = ""
        var pause: Task<Void, Never>?
    }

    let charge: Charge
    private let console: Console
    private let notes: ProcessNotes
    private let state = Mutex(State())

    init(_ charge: Charge, console: Console, notes: ProcessNotes) {
        self.charge = charge
        self.console = console
        self.notes = notes
    }

    var name: String { charge.name }
    /// How often it has ended without being told to, and how the last time.
    var ends: (count: Int, last: String) { state.withLock { ($0.ends, $0.lastEnd) } }

    /// Starts the process, and again whenever it ends; returns once it was told to stop and has.
    func run() async {
        var backoff = Backoff()
        while !state.withLock(\.isStopping) {
            let began = ContinuousClock.now
            let end: String
            do {
                let child = try await charge.launch()
                adopt(child)
                end = "ended with \(await child.exit())"
                notes.began(name, nil)
            } catch {
                end = "could not be started: \(error)"
            }
            let isStopping = state.withLock { state in
                state.child = nil
                state.ends += 1
                state.lastEnd = end
                return state.isStopping
            }
            guard !isStopping else {
                return
            }
            let pause = backoff.pause(afterRunning: .now - began)
            console.say("roost: \(name) \(end); starting it again" + (pause == .zero ? "" : " in \(pause)"))
            await wait(pause)
        }
    }

    /// Stops the process cleanly, by force where that takes too long, and returns when it is gone.
    func stop() async {
        guard let child = beginStopping() else {
            return
        }
        child.signal(charge.stopSignal)
        child.closeInput()
        if await child.exit(within: charge.stopLimit) != nil {
            return
        }
        console.say("roost: \(name) does not stop within \(charge.stopLimit); ending it")
        child.signal(charge.forceSignal)
        if await child.exit(within: .seconds(5)) == nil {
            child.signal(SIGKILL)
        }
        _ = await child.exit()
    }

    /// Ends the process now.
    func force() {
        beginStopping()?.signal(charge.forceSignal)
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

    private func adopt(_ child: ChildProcess) {
        notes.began(name, child.identity)
        let isStopping = state.withLock { state in
            state.child = child
            return state.isStopping
        }
        if isStopping {
            // Told to stop while it was being started.
            child.signal(charge.stopSignal)
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
