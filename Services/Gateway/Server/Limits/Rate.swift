/// How many requests are let in: a burst at once, and so many a second on average.
struct Rate: Hashable, Sendable {
    /// Nanoseconds in which one request is earned back.
    let interval: UInt64
    let burst: UInt64

    /// - Parameters:
    ///   - count: how many requests, at least one.
    ///   - seconds: in how many seconds.
    ///   - burst: how many of them at once, at least one.
    init(_ count: Int, in seconds: Int, burst: Int) {
        interval = max(1, UInt64(seconds) * 1_000_000_000 / UInt64(max(1, count)))
        self.burst = UInt64(max(1, burst))
    }

    /// Nanoseconds in which all of a burst is earned back.
    var window: UInt64 { interval * burst }
}
