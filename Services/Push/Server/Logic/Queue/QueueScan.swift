import Locks

/// The position of a scan over all queues, which continues in the next claim if there are too many for one.
final class QueueScan: Sendable {
    private let state = Lock<ProviderQueue?>(nil)

    var last: ProviderQueue? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

struct ClaimQuota: Sendable {
    let queue: ProviderQueue
    let quota: Int
    /// Whether the notification tests if the provider works again.
    let isProbe: Bool
}
