/// How long to wait before something that has ended is started again: not at all, then 0.1 s, doubled up to 5 s.
struct Backoff: Sendable {
    static let longest = Duration.seconds(5)
    /// What has run this long is taken to be well, and the next end is the first.
    static let trial = Duration.seconds(10)

    private var ends = 0

    mutating func pause(afterRunning duration: Duration) -> Duration {
        if duration >= Self.trial {
            ends = 0
        }
        defer { ends += 1 }
        return ends == 0 ? .zero : min(.milliseconds(100) * (1 << min(ends - 1, 10)), Self.longest)
    }
}
