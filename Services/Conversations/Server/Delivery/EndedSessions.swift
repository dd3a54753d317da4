import Synchronization

/// Sessions that ended a short while ago: a socket whose credential was looked at before must not be attached after.
final class EndedSessions: Sendable {
    private struct State {
        var young: Set<String> = []
        var old: Set<String> = []
        var turnedAt = ContinuousClock.now
    }

    private static let memory = Duration.seconds(60)
    private let state = Mutex(State())

    func insert(_ session: String) {
        state.withLock { state in
            if state.turnedAt.duration(to: .now) > Self.memory {
                state.old = state.young
                state.young = []
                state.turnedAt = .now
            }
            state.young.insert(session)
        }
    }

    func contains(_ session: String) -> Bool {
        state.withLock { $0.young.contains(session) || $0.old.contains(session) }
    }
}
