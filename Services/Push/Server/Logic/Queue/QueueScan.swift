import Locks

/// Where a look at all lanes goes on, when there are too many for one.
final class QueueScan: Sendable {
    private let state = Lock<ProviderQueue?>(nil)

    var last: ProviderQueue? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// How much of a lane may be claimed.
struct ClaimQuota: Sendable {
    let queue: ProviderQueue
    let quota: Int
    /// Whether it is to see if the push service is well again.
    let isProbe: Bool
}
