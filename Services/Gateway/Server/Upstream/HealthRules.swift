package import NIOCore

/// When an instance is passed over, when it is left alone, and when it comes back.
package struct HealthRules: Sendable {
    /// Checks in a row without an answer after which an instance is passed over; one that answers that it is not ready
    /// is passed over at once.
    package var missedChecks = 2
    /// Failures in a row after which an instance is ejected: no answer, or 502, 503 or 504.
    package var failuresToEject = 5
    /// How long it is ejected the first time; twice as long each time after, up to the longest.
    package var baseEjectionTime = TimeAmount.seconds(5)
    package var maximumEjectionTime = TimeAmount.seconds(60)
    /// In how much time the share of one that comes back grows from a tenth to the whole.
    package var slowStartTime = TimeAmount.seconds(10)

    /// Requests in a row without an answer after which the circuit opens; checks without an answer count too.
    package var failuresToOpen = 5
    /// The circuit also opens when this share of at least so many requests within ten seconds had no answer.
    package var failureRatioToOpen = 0.5
    package var minimumRequestsToOpen = 20
    /// How long the circuit is open the first time; twice as long each time after, up to the longest.
    package var openTime = TimeAmount.milliseconds(500)
    package var maximumOpenTime = TimeAmount.seconds(30)
    /// With the circuit half open, so many requests are let through within `probeInterval`, and so many answers close it.
    package var probes = 3
    package var probeInterval = TimeAmount.seconds(5)

    package init() {}

    /// `time`, doubled for each time after the first.
    static func backoff(_ time: TimeAmount, times: Int, longest: TimeAmount) -> TimeAmount {
        min(.nanoseconds(time.nanoseconds << Int64(min(max(0, times - 1), 20))), longest)
    }
}
