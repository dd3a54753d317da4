/// When a call to a neighbour is made again.
///
/// Only what surely had no effect, or may have it twice: a request that was never sent, and `GET` or `PUT` or `DELETE`
/// that went unanswered or met a 502, 503 or 504.
package struct RetryPolicy: Sendable {
    package var attempts: Int
    /// The wait before the second attempt; doubled for each further one, with jitter.
    package var backoff: Duration

    package init(attempts: Int = 3, backoff: Duration = .milliseconds(50)) {
        self.attempts = attempts
        self.backoff = backoff
    }

    package static let never = RetryPolicy(attempts: 1)

    func pause(after attempt: Int) -> Duration {
        backoff * (1 << min(attempt - 1, 6)) * Double.random(in: 0.5...1.5)
    }
}
