/// The retries of calls to other services.
///
/// A call is retried if it certainly had no effect or can be repeated safely. Examples are requests that were never
/// sent, and `GET`, `PUT` and `DELETE` requests without a response or with a 502, 503 or 504.
package struct RetryPolicy: Sendable {
    package var attempts: Int
    /// The delay before the second attempt; doubled for each further attempt, with jitter.
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
