import Configuration
import Foundation
import ServiceHost

struct PipelineConfiguration: Sendable {
    /// `PUSH_IN_FLIGHT_MAX` (4,000): the maximum number of notifications that one instance sends concurrently.
    var maximumInFlight = 4_000
    /// `PUSH_IN_FLIGHT_PER_PROVIDER_MAX` (1,000): the maximum for one provider and one application.
    var maximumInFlightPerProvider = 1_000
    /// `PUSH_ATTEMPTS_MAX` (20): the number of attempts after which a notification waits for the operator.
    var maximumAttempts = 20
    /// `PUSH_BROADCAST_COOLDOWN_SECONDS` (14,400): the minimum time between two accepted notifications about a
    /// broadcaster, for users with that option.
    var cooldown: TimeInterval = 14_400
    /// `PUSH_BROADCAST_TTL_SECONDS` (86,400): the lifetime of a notification about a live stream.
    var broadcastLifetime: TimeInterval = 86_400
    /// `PUSH_LOG_RETENTION_DAYS` (30): the time for which the log and the failures are kept.
    var logDays = 30

    init() {}

    init(_ configuration: ConfigReader) throws {
        maximumInFlight = try configuration.number("PUSH_IN_FLIGHT_MAX", default: maximumInFlight, in: 1...100_000)
        maximumInFlightPerProvider = try configuration.number(
            "PUSH_IN_FLIGHT_PER_PROVIDER_MAX",
            default: maximumInFlightPerProvider,
            in: 1...100_000
        )
        maximumAttempts = try configuration.number("PUSH_ATTEMPTS_MAX", default: maximumAttempts, in: 1...1_000)
        cooldown = TimeInterval(
            try configuration.number("PUSH_BROADCAST_COOLDOWN_SECONDS", default: 14_400, in: 0...31_536_000)
        )
        broadcastLifetime = TimeInterval(
            try configuration.number("PUSH_BROADCAST_TTL_SECONDS", default: 86_400, in: 1...2_419_200)
        )
        logDays = try configuration.number("PUSH_LOG_RETENTION_DAYS", default: logDays, in: 1...3_650)
    }
}
