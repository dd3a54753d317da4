struct Rate: Hashable, Sendable {
    /// The nanoseconds after which one request is allowed again.
    let interval: UInt64
    let burst: UInt64

    /// Creates a rate of `count` requests in `seconds`.
    ///
    /// - Parameters:
    ///   - count: the number of requests, at least 1.
    ///   - seconds: the period in seconds.
    ///   - burst: the number of requests at one moment, at least 1.
    init(_ count: Int, in seconds: Int, burst: Int) {
        interval = max(1, UInt64(seconds) * 1_000_000_000 / UInt64(max(1, count)))
        self.burst = UInt64(max(1, burst))
    }

    var window: UInt64 { interval * burst }
}
