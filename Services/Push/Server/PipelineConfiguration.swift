import Configuration
import Foundation
import ServiceHost

/// The settings of a notification's way from who has something to say to the push services.
struct PipelineConfiguration: Sendable {
    /// `PUSH_IN_FLIGHT_MAX` (4,000): how many notifications one instance has on their way at once, to all push services.
    var maximumInFlight = 4_000
    /// `PUSH_IN_FLIGHT_PER_PROVIDER_MAX` (1,000): to one push service for one application.
    var maximumInFlightPerProvider = 1_000
    /// `PUSH_ATTEMPTS_MAX` (20): sent so often without success, a notification waits for the operator.
    var maximumAttempts = 20
    /// `PUSH_BROADCAST_COOLDOWN_SECONDS` (14,400): how long a broadcaster is kept from who wants to hear less of him, from
    /// when a push service last took something about him.
    var cooldown: TimeInterval = 14_400
    /// `PUSH_BROADCAST_TTL_SECONDS` (86,400): how long the word of a broadcast is worth sending.
    var broadcastLifetime: TimeInterval = 86_400
    /// `PUSH_LOG_RETENTION_DAYS` (30): how long it can be asked what became of a notification.
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
