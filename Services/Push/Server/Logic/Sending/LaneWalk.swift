import Locks

/// Where a look at all lanes goes on, when there are too many for one.
final class LaneWalk: Sendable {
    private let state = Lock<Lane?>(nil)

    var last: Lane? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// How much of a lane may be claimed.
struct LaneRoom: Sendable {
    let lane: Lane
    let room: Int
    /// Whether it is to see if the push service is well again.
    let isTrial: Bool
}
