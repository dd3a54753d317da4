import Locks
import NIOCore
import SocketIO
import Wire

/// The state of a socket: its sign-in, its rate limit and its end.
final class SocketSession: Sendable {
    enum Key: SocketDataKey { typealias Value = SocketSession }

    private enum SignInState {
        case signedOut
        /// The credential of the handshake is verified, and the sign-in is about to be completed.
        case verified(VerifiedSignIn)
        case signedIn(SocketCaller)
        case closed
    }

    private struct State {
        var signInState = SignInState.signedOut
        /// Closes the socket when the time to sign in, or the session, is over.
        var end: Scheduled<Void>?
        /// The time at which a full burst of requests is available again.
        var replenishedAt = NIODeadline.uptimeNanoseconds(0)
        /// The number of rejected credentials.
        var refusals = 0
    }

    private let state = Lock(State())

    var caller: SocketCaller? {
        state.withLock { state in if case .signedIn(let caller) = state.signInState { caller } else { nil } }
    }

    /// Stores the verified sign-in of the handshake.
    func hold(_ signIn: VerifiedSignIn) {
        state.withLock { $0.signInState = .verified(signIn) }
    }

    /// The verified sign-in that is not completed yet.
    var signIn: VerifiedSignIn? {
        state.withLock { state in if case .verified(let signIn) = state.signInState { signIn } else { nil } }
    }

    /// Records the signed-in caller; returns false when the socket is closed.
    func activate(_ caller: SocketCaller) -> Bool {
        state.withLock { state in
            if case .closed = state.signInState { return false }
            state.signInState = .signedIn(caller)
            return true
        }
    }

    /// Records that the socket is closed; returns its signed-in caller.
    func leave() -> SocketCaller? {
        let (signInState, end) = state.withLock { state in
            defer { (state.signInState, state.end) = (.closed, nil) }
            return (state.signInState, state.end)
        }
        end?.cancel()
        guard case .signedIn(let caller) = signInState else { return nil }
        return caller
    }

    /// Closes the socket after `time` unless a later call replaces it; nil only cancels an earlier call.
    func end(_ socket: Socket, in time: TimeAmount?) {
        let next = time.map { time in socket.eventLoop.scheduleTask(in: time) { socket.disconnect(close: true) } }
        let former = state.withLock { state -> Scheduled<Void>? in
            if case .closed = state.signInState { return next }
            defer { state.end = next }
            return state.end
        }
        former?.cancel()
    }

    /// Counts a rejected credential.
    func countRefusal() { state.withLock { $0.refusals += 1 } }

    var refusals: Int { state.withLock(\.refusals) }

    /// Returns whether the socket may make another request within `rateLimit`.
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

/// The rate limit of one socket: a number of requests per second on average, with a burst of ten seconds' worth.
struct SocketRateLimit: Sendable {
    /// The time in which one request becomes available; nil for no limit.
    let interval: TimeAmount?
    let window = TimeAmount.seconds(10)

    init(perSecond rate: Int) {
        interval = rate > 0 ? .nanoseconds(1_000_000_000 / Int64(rate)) : nil
    }
}
