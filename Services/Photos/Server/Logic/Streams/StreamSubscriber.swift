import Locks
import Wire

/// One who listens: waits until there may be something for him.
final class StreamSubscriber: Sendable {
    enum Wake: Sendable {
        /// There may be something to read.
        case changes
        /// There was nothing to say for a while.
        case heartbeat
        /// There is nothing more for him.
        case end
    }

    private struct State {
        /// He is new: what happened before he came he has to look for.
        var hasChanges = true
        var isHeartbeatDue = false
        var isEnded = false
        var lastSentAt = ContinuousClock.now
        var waiting: CheckedContinuation<Wake, Never>?

        /// What he is to be woken by, which is forgotten by that.
        mutating func take() -> Wake? {
            if isEnded { return .end }
            guard hasChanges || isHeartbeatDue else { return nil }
            defer { (hasChanges, isHeartbeatDue) = (false, false) }
            return hasChanges ? .changes : .heartbeat
        }
    }

    let number: UInt64
    let user: User.ID
    let session: String
    private let state = Lock(State())

    init(number: UInt64, user: User.ID, session: String) {
        self.number = number
        self.user = user
        self.session = session
    }

    func wake(_ reason: Wake) {
        let woken = state.withLock { state -> (CheckedContinuation<Wake, Never>, Wake)? in
            switch reason {
            case .changes: state.hasChanges = true
            case .heartbeat: state.isHeartbeatDue = true
            case .end: state.isEnded = true
            }
            guard let waiting = state.waiting, let wake = state.take() else { return nil }
            state.waiting = nil
            return (waiting, wake)
        }
        woken?.0.resume(returning: woken?.1 ?? .end)
    }

    func end() { wake(.end) }

    /// Whether nothing was said to him since.
    func isIdle(since moment: ContinuousClock.Instant) -> Bool { state.withLock { $0.lastSentAt < moment } }

    func didSend() { state.withLock { $0.lastSentAt = .now } }

    /// Waits to be woken, one task at a time; to be cancelled is the end.
    func next() async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wake = state.withLock { state in
                    let wake = state.take()
                    if wake == nil { state.waiting = continuation }
                    return wake
                }
                if let wake { continuation.resume(returning: wake) }
            }
        } onCancel: {
            end()
        }
    }
}
