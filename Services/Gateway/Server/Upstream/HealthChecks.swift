import Locks
import NIOCore
import NIOPosix

/// Asks every instance again and again whether it is ready; each on its own, so that one which hangs delays no other.
final class HealthChecks: Sendable {
    private struct State {
        var fleets: [ServiceFleet] = []
        /// Instances that have still to answer.
        var underway: Set<ObjectIdentifier> = []
        var rounds: RepeatedTask?
    }

    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let state = Lock(State())

    /// Checks the instances of `edge` from now on, at once and then as often as its settings say.
    func follow(_ edge: Edge) {
        let interval = edge.configuration.healthInterval
        let patience = edge.configuration.healthTimeout
        let rounds =
            interval > .zero
            ? eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { _ in
                self.ask(patience: patience)
            }
            : nil
        let former = state.withLock { state in
            state.fleets = edge.fleets
            let former = state.rounds
            state.rounds = rounds
            return former
        }
        former?.cancel()
        // Whom nobody asks any more takes part, whatever it said last.
        if rounds == nil { for health in edge.fleets.flatMap(\.instances) { health.checked(.ready, now: .now()) } }
    }

    func stop() {
        state.withLock { $0.rounds }?.cancel()
    }

    private func ask(patience: TimeAmount) {
        let due = state.withLock { state in
            state.fleets.flatMap(\.instances).filter { state.underway.insert(ObjectIdentifier($0)).inserted }
        }
        for health in due {
            ReadyProbe.ask(health, patience: patience, on: eventLoop).whenSuccess { verdict in
                self.take(verdict, of: health)
            }
        }
    }

    private func take(_ verdict: ReadyProbe.Verdict, of health: InstanceHealth) {
        let isChecking = state.withLock { state in
            state.underway.remove(ObjectIdentifier(health))
            return state.rounds != nil
        }
        guard isChecking else { return }
        health.checked(verdict, now: .now())
        // An instance that is not checked any more takes part; checks may have been switched off just now.
        if state.withLock({ $0.rounds == nil }) { health.checked(.ready, now: .now()) }
    }
}
