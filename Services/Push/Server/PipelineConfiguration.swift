import Configuration
import Foundation
import ServiceHost

struct PipelineConfiguration: Sendable {
    /// The maximum number of notifications that one instance sends concurrently.
    ///
    /// Each takes some kilobytes, and four providers can each reach their own limit.
    var maximumInFlight = 4_000
    /// `PUSH_IN_FLIGHT_PER_PROVIDER_MAX` (1,000): the maximum for one provider and one application.
    var maximumInFlightPerProvider = 1_000
    /// The number of attempts after which a notification waits for the operator.
    ///
    /// With the pauses between them, 20 attempts take about two hours. A failure that lasts longer needs an operator.
    var maximumAttempts = 20
    /// The minimum time between two accepted notifications about a broadcaster, for users with that option.
    ///
    /// The API states four hours: a broadcaster who reconnects during an evening causes one notification.
    var cooldown: TimeInterval = 14_400
    /// The lifetime of a notification about a live stream.
    ///
    /// A device that was off still shows it on the same day; after a day, the broadcast is over.
    var broadcastLifetime: TimeInterval = 86_400
    /// `PUSH_LOG_RETENTION_DAYS` (30): the time for which the log and the failures are kept.
    var logDays = 30

    init() {}

    init(_ configuration: ConfigReader) throws {
        maximumInFlightPerProvider = try configuration.number(
            "PUSH_IN_FLIGHT_PER_PROVIDER_MAX",
            default: maximumInFlightPerProvider,
            in: 1...100_000
        )
        logDays = try configuration.number("PUSH_LOG_RETENTION_DAYS", default: logDays, in: 1...3_650)
    }
}
