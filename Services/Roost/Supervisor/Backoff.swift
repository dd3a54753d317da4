/// The delay before an exited process is restarted: 0 s, then 0.1 s, doubled up to 5 s.
struct Backoff: Sendable {
    static let maximumPause = Duration.seconds(5)
    /// A process that ran for this long counts as healthy, so its next delay is 0 s.
    static let resetTime = Duration.seconds(10)

    private var exits = 0

    mutating func pause(afterRunning duration: Duration) -> Duration {
        if duration >= Self.resetTime {
            exits = 0
        }
        defer { exits += 1 }
        return exits == 0 ? .zero : min(.milliseconds(100) * (1 << min(exits - 1, 10)), Self.maximumPause)
    }
}
