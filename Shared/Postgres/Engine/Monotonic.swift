import Glibc

/// Nanoseconds on a clock that never jumps; all of the engine's deadlines are on it.
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
    /// Whole nanoseconds, clamped to a hundred years.
    var nanoseconds: Int64 {
        let limit: Int64 = 100 * 365 * 86_400
        let (seconds, attoseconds) = components
        return min(max(seconds, -limit), limit) * Monotonic.second + attoseconds / 1_000_000_000
    }

    /// Whole milliseconds, at least one, as the server's settings want them.
    var serverMilliseconds: Int64 {
        max(1, nanoseconds / Monotonic.millisecond)
    }
}
