package import NIOCore

package struct HealthRules: Sendable {
    /// Unanswered checks in a row after which an instance leaves the rotation.
    ///
    /// A check with a not-ready response has this effect at once.
    package var missedChecks = 2
    /// Failures in a row after which an instance is ejected: no response, or status 502, 503 or 504.
    package var failuresToEject = 5
    /// The duration of the first ejection; each further one is twice as long, up to the maximum.
    package var baseEjectionTime = TimeAmount.seconds(5)
    package var maximumEjectionTime = TimeAmount.seconds(60)
    /// The time in which a recovering instance's share of requests grows from a tenth to the whole.
    package var slowStartTime = TimeAmount.seconds(10)

    /// Unanswered requests and checks in a row after which the circuit opens.
    package var failuresToOpen = 5
    /// The circuit also opens at this ratio of unanswered requests, among at least this many within ten seconds.
    package var failureRatioToOpen = 0.5
    package var minimumRequestsToOpen = 20
    /// The duration of the first open state; each further one is twice as long, up to the maximum.
    package var openTime = TimeAmount.milliseconds(500)
    package var maximumOpenTime = TimeAmount.seconds(30)
    /// The number of requests that a half-open circuit allows per `probeInterval`, and of responses that close it.
    package var probes = 3
    package var probeInterval = TimeAmount.seconds(5)

    package init() {}

    /// Returns `time`, doubled for each of `times` after the first, at most `longest`.
    static func backoff(_ time: TimeAmount, times: Int, longest: TimeAmount) -> TimeAmount {
        min(.nanoseconds(time.nanoseconds << Int64(min(max(0, times - 1), 20))), longest)
    }
}
