import Configuration
import Foundation
import ServiceHost

/// The settings of auth.
struct AuthConfiguration: Sendable {
    /// Seconds that an access token counts.
    var accessTokenLifetime = 3_600
    /// Seconds that a session lives without being refreshed.
    var sessionIdleLifetime = 30 * 86_400
    /// Seconds that a session lives, however often it is refreshed.
    var sessionLifetime = 90 * 86_400
    /// Failed logins per account, and per device known to it, in a window; 0 is no limit.
    var loginFailures = 10
    /// Failed logins per address in a window, for many people may share one; 0 is no limit.
    var loginFailuresPerAddress = 100
    /// Seconds that a window of failed logins lasts.
    var loginWindow = 900
    /// Threads that hash passwords.
    var hashingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    /// Sign-ins and registrations that may wait for a hashing thread.
    var hashingQueue = 64
    /// What a new hash costs.
    var argon2 = Argon2id.Parameters.recommended
    /// Where the gateway's requests come from: addresses whose `X-Forwarded-For` is believed.
    var gatewayAddresses = AddressRanges.loopback

    init() {}

    /// Reads the settings.
    ///
    /// - `ACCESS_TOKEN_SECONDS` (3600): how long an access token counts.
    /// - `SESSION_IDLE_DAYS` (30), `SESSION_DAYS` (90): how long a session lives without a refresh, and with.
    /// - `LOGIN_FAILURES` (10): failed logins in `LOGIN_WINDOW_SECONDS` (900) after which an account is slowed down;
    ///   0 is off.
    /// - `LOGIN_FAILURES_ADDRESS` (100): the same for an address.
    /// - `HASHING_THREADS` (half the cores), `HASHING_QUEUE` (64): who hashes passwords, and how many may wait.
    /// - `GATEWAY_ADDRESSES` (`127.0.0.0/8,::1`): whose `X-Forwarded-For` is believed.
    init(_ configuration: ConfigReader) throws {
        func days(_ name: String, _ seconds: Int) throws -> Int {
            try configuration.number(name, default: seconds / 86_400, in: 1...3_650) * 86_400
        }
        accessTokenLifetime = try configuration.number(
            "ACCESS_TOKEN_SECONDS",
            default: accessTokenLifetime,
            in: 10...86_400
        )
        sessionIdleLifetime = try days("SESSION_IDLE_DAYS", sessionIdleLifetime)
        sessionLifetime = try days("SESSION_DAYS", sessionLifetime)
        loginFailures = try configuration.number("LOGIN_FAILURES", default: loginFailures, in: 0...1_000_000)
        loginFailuresPerAddress = try configuration.number(
            "LOGIN_FAILURES_ADDRESS",
            default: loginFailuresPerAddress,
            in: 0...1_000_000
        )
        loginWindow = try configuration.number("LOGIN_WINDOW_SECONDS", default: loginWindow, in: 1...86_400)
        hashingThreads = try configuration.number("HASHING_THREADS", default: hashingThreads, in: 1...256)
        hashingQueue = try configuration.number("HASHING_QUEUE", default: hashingQueue, in: 0...10_000)
        if let ranges = configuration.text("GATEWAY_ADDRESSES") {
            guard let ranges = AddressRanges(ranges) else {
                throw SettingError("GATEWAY_ADDRESSES", "must be addresses or ranges like 10.0.0.0/8, comma-separated")
            }
            gatewayAddresses = ranges
        }
    }

    /// Seconds after a session's end during which a jwt of it may still be shown: the longest life, and clocks apart.
    var revocationLifetime: Int { accessTokenLifetime + 60 }
}
