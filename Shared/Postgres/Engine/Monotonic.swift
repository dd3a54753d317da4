import Glibc

/// The monotonic clock in nanoseconds, used for all of the engine's deadlines.
enum Monotonic {
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    static let millisecond: Int64 = 1_000_000
    static let second: Int64 = 1_000_000_000
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to ±100 years.
    var nanoseconds: Int64 {
        let limit: Int64 = 100 * 365 * 86_400
        let (seconds, attoseconds) = components
        return min(max(seconds, -limit), limit) * Monotonic.second + attoseconds / 1_000_000_000
    }

    /// The duration in whole milliseconds, at least 1, as PostgreSQL's settings require.
    var serverMilliseconds: Int64 {
        max(1, nanoseconds / Monotonic.millisecond)
    }
}
