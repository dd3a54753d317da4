import Locks
import NIOCore
import SocketIO
import Wire

/// What is kept with a socket: who has signed in by it, how often it asks, and what ends it.
final class SocketSeat: Sendable {
    enum Key: SocketDataKey { typealias Value = SocketSeat }

    private enum Occupant {
        case nobody
        /// He has shown who he is in his handshake, and is about to be let in.
        case arriving(SocketArrival)
        case seated(SocketCaller)
        case gone
    }

    private struct State {
        var occupant = Occupant.nobody
        /// What closes the socket when its time is over: the time to sign in, or the session's.
        var end: Scheduled<Void>?
        /// When all that may be asked at once may be asked again.
        var restedAt = NIODeadline.uptimeNanoseconds(0)
        /// How many credentials were refused.
        var refusals = 0
    }

    private let state = Lock(State())

    var caller: SocketCaller? {
        state.withLock { state in if case .seated(let caller) = state.occupant { caller } else { nil } }
    }

    /// Holds the place for who has shown who he is.
    func hold(_ arrival: SocketArrival) {
        state.withLock { $0.occupant = .arriving(arrival) }
    }

    /// Whoever the place is held for.
    var arrival: SocketArrival? {
        state.withLock { state in if case .arriving(let arrival) = state.occupant { arrival } else { nil } }
    }

    /// Seats somebody; false: the socket is gone.
    func take(_ caller: SocketCaller) -> Bool {
        state.withLock { state in
            if case .gone = state.occupant { return false }
            state.occupant = .seated(caller)
            return true
        }
    }

    /// The socket is gone: whose it was.
    func leave() -> SocketCaller? {
        let (occupant, end) = state.withLock { state in
            defer { (state.occupant, state.end) = (.gone, nil) }
            return (state.occupant, state.end)
        }
        end?.cancel()
        guard case .seated(let caller) = occupant else { return nil }
        return caller
    }

    /// Ends the socket in some time, unless something else is said about it before; nil: not by itself.
    func end(_ socket: Socket, in time: TimeAmount?) {
        let next = time.map { time in socket.eventLoop.scheduleTask(in: time) { socket.disconnect(close: true) } }
        let former = state.withLock { state -> Scheduled<Void>? in
            if case .gone = state.occupant { return next }
            defer { state.end = next }
            return state.end
        }
        former?.cancel()
    }

    /// Counts a refused credential.
    func refuse() { state.withLock { $0.refusals += 1 } }

    var refusals: Int { state.withLock(\.refusals) }

    /// Whether it may ask once more, as often as `pace` says.
    func mayAsk(_ pace: SocketPace, now: NIODeadline = .now()) -> Bool {
        guard let interval = pace.interval else { return true }
        return state.withLock { state in
            let after = max(state.restedAt, now) + interval
            guard after - now <= pace.window else { return false }
            state.restedAt = after
            return true
        }
    }
}

/// How often one socket may ask: so many times a second on average, and ten seconds' worth at once.
struct SocketPace: Sendable {
    /// In which one request is earned back; nil: it may ask as it likes.
    let interval: TimeAmount?
    let window = TimeAmount.seconds(10)

    init(perSecond rate: Int) {
        interval = rate > 0 ? .nanoseconds(1_000_000_000 / Int64(rate)) : nil
    }
}
