import Locks
import Wire

/// A subscriber of a stream, which sleeps until there may be something to send.
final class StreamSubscriber: Sendable {
    enum Wake: Sendable {
        case changes
        /// Nothing was sent for the heartbeat interval.
        case heartbeat
        case end
    }

    private struct State {
        /// True at first: a new subscriber reads the changes before it waits.
        var hasChanges = true
        var isHeartbeatDue = false
        var isEnded = false
        var lastSentAt = ContinuousClock.now
        var waiting: CheckedContinuation<Wake, Never>?

        /// Returns the reason to wake up, and resets it.
        mutating func consumeWake() -> Wake? {
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
            guard let waiting = state.waiting, let wake = state.consumeWake() else { return nil }
            state.waiting = nil
            return (waiting, wake)
        }
        woken?.0.resume(returning: woken?.1 ?? .end)
    }

    func end() { wake(.end) }

    func isIdle(since moment: ContinuousClock.Instant) -> Bool { state.withLock { $0.lastSentAt < moment } }

    func didSend() { state.withLock { $0.lastSentAt = .now } }

    /// Waits for the next reason to wake up; only one task may wait, and its cancellation ends the subscriber.
    func next() async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wake = state.withLock { state in
                    let wake = state.consumeWake()
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
