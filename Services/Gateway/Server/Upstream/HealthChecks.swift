import Locks
import NIOCore
import NIOPosix

/// Checks the readiness of every instance periodically; a hanging instance does not delay the others.
final class HealthChecks: Sendable {
    private struct State {
        var clusters: [UpstreamCluster] = []
        var inProgress: Set<ObjectIdentifier> = []
        var timer: RepeatedTask?
    }

    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let state = Lock(State())

    /// Checks the instances of `gatewayState` from now on, immediately and then at the configured interval.
    func monitor(_ gatewayState: GatewayState) {
        let interval = gatewayState.configuration.healthInterval
        let timeout = gatewayState.configuration.healthTimeout
        let timer =
            interval > .zero
            ? eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { _ in
                self.probe(timeout: timeout)
            }
            : nil
        let previous = state.withLock { state in
            state.clusters = gatewayState.clusters
            let previous = state.timer
            state.timer = timer
            return previous
        }
        previous?.cancel()
        // With checks disabled, every instance counts as ready.
        if timer == nil {
            for health in gatewayState.clusters.flatMap(\.instances) { health.recordCheck(.ready, now: .now()) }
        }
    }

    func stop() {
        state.withLock { $0.timer }?.cancel()
    }

    private func probe(timeout: TimeAmount) {
        let due = state.withLock { state in
            state.clusters.flatMap(\.instances).filter { state.inProgress.insert(ObjectIdentifier($0)).inserted }
        }
        for health in due {
            ReadyProbe.probe(health, timeout: timeout, on: eventLoop).whenSuccess { outcome in
                self.record(outcome, of: health)
            }
        }
    }

    private func record(_ outcome: ReadyProbe.Outcome, of health: InstanceHealth) {
        let isChecking = state.withLock { state in
            state.inProgress.remove(ObjectIdentifier(health))
            return state.timer != nil
        }
        guard isChecking else { return }
        health.recordCheck(outcome, now: .now())
        // Checks may have been disabled while this one was in progress.
        if state.withLock({ $0.timer == nil }) { health.recordCheck(.ready, now: .now()) }
    }
}
