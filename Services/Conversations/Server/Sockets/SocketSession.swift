import Locks
import NIOCore
import SocketIO
import Wire

/// What is kept with a socket: who has signed in by it, how often it asks, and what ends it.
final class SocketSession: Sendable {
    enum Key: SocketDataKey { typealias Value = SocketSession }

    private enum SignInState {
        case signedOut
        /// He has shown who he is in his handshake, and is about to be let in.
        case verified(VerifiedSignIn)
        case signedIn(SocketCaller)
        case closed
    }

    private struct State {
        var signInState = SignInState.signedOut
        /// What closes the socket when its time is over: the time to sign in, or the session's.
        var end: Scheduled<Void>?
        /// When all that may be asked at once may be asked again.
        var replenishedAt = NIODeadline.uptimeNanoseconds(0)
        /// How many credentials were refused.
        var refusals = 0
    }

    private let state = Lock(State())

    var caller: SocketCaller? {
        state.withLock { state in if case .signedIn(let caller) = state.signInState { caller } else { nil } }
    }

    /// Holds the place for who has shown who he is.
    func hold(_ signIn: VerifiedSignIn) {
        state.withLock { $0.signInState = .verified(signIn) }
    }

    /// Whoever the place is held for.
    var signIn: VerifiedSignIn? {
        state.withLock { state in if case .verified(let signIn) = state.signInState { signIn } else { nil } }
    }

    /// Seats somebody; false: the socket is gone.
    func activate(_ caller: SocketCaller) -> Bool {
        state.withLock { state in
            if case .closed = state.signInState { return false }
            state.signInState = .signedIn(caller)
            return true
        }
    }

    /// The socket is gone: whose it was.
    func leave() -> SocketCaller? {
        let (signInState, end) = state.withLock { state in
            defer { (state.signInState, state.end) = (.closed, nil) }
            return (state.signInState, state.end)
        }
        end?.cancel()
        guard case .signedIn(let caller) = signInState else { return nil }
        return caller
    }

    /// Ends the socket in some time, unless something else is said about it before; nil: not by itself.
    func end(_ socket: Socket, in time: TimeAmount?) {
        let next = time.map { time in socket.eventLoop.scheduleTask(in: time) { socket.disconnect(close: true) } }
        let former = state.withLock { state -> Scheduled<Void>? in
            if case .closed = state.signInState { return next }
            defer { state.end = next }
            return state.end
        }
        former?.cancel()
    }

    /// Counts a refused credential.
    func countRefusal() { state.withLock { $0.refusals += 1 } }

    var refusals: Int { state.withLock(\.refusals) }

    /// Whether it may ask once more, as often as `rateLimit` says.
    func allowsRequest(_ rateLimit: SocketRateLimit, now: NIODeadline = .now()) -> Bool {
        guard let interval = rateLimit.interval else { return true }
        return state.withLock { state in
            let after = max(state.replenishedAt, now) + interval
            guard after - now <= rateLimit.window else { return false }
            state.replenishedAt = after
            return true
        }
    }
}

/// How often one socket may ask: so many times a second on average, and ten seconds' worth at once.
struct SocketRateLimit: Sendable {
    /// In which one request is earned back; nil: it may ask as it likes.
    let interval: TimeAmount?
    let window = TimeAmount.seconds(10)

    init(perSecond rate: Int) {
        interval = rate > 0 ? .nanoseconds(1_000_000_000 / Int64(rate)) : nil
    }
}
