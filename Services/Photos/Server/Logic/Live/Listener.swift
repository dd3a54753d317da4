import Locks
import Wire

/// One who listens: waits until there may be something for him.
final class Listener: Sendable {
    enum Wake: Sendable {
        /// There may be something to read.
        case news
        /// There was nothing to say for a while.
        case heartbeat
        /// There is nothing more for him.
        case end
    }

    private struct State {
        /// He is new: what happened before he came he has to look for.
        var hasNews = true
        var isDue = false
        var isEnded = false
        var spokenAt = ContinuousClock.now
        var waiting: CheckedContinuation<Wake, Never>?

        /// What he is to be woken by, which is forgotten by that.
        mutating func take() -> Wake? {
            if isEnded { return .end }
            guard hasNews || isDue else { return nil }
            defer { (hasNews, isDue) = (false, false) }
            return hasNews ? .news : .heartbeat
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
            case .news: state.hasNews = true
            case .heartbeat: state.isDue = true
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
    func isSilent(since moment: ContinuousClock.Instant) -> Bool { state.withLock { $0.spokenAt < moment } }

    func spoke() { state.withLock { $0.spokenAt = .now } }

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
