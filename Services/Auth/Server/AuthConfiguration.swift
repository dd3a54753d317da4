import Configuration
import Foundation
import ServiceHost

struct AuthConfiguration: Sendable {
    /// Seconds until an access token expires.
    var accessTokenLifetime = 3_600
    /// Seconds until a session without a refresh expires.
    var sessionIdleLifetime = 30 * 86_400
    /// Seconds until a session expires, regardless of refreshes.
    var sessionLifetime = 90 * 86_400
    /// Failed logins per window, for an account and for each of its known devices; 0 means no limit.
    var loginFailures = 10
    /// Failed logins per IP address in a window, higher because users may share an address; 0 means no limit.
    var loginFailuresPerAddress = 100
    /// Login attempts per name and minute, successful or not; 0 means no limit.
    var loginsPerMinute = 60
    /// The length in seconds of a window of failed logins.
    var loginWindow = 900
    var hashingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    /// The most sign-ins and registrations that wait for a hashing thread.
    var hashingQueue = 64
    var breachedPasswords: String?
    var messagesPath: String?
    var maximumExports = 4
    var auditDays = 365
    /// Seconds after which every request that began before a user's deletion has finished.
    var deletionSecondPassDelay = 60
    var applicationsAreOpen = false
    /// The cost parameters of new password hashes.
    var argon2 = Argon2id.Parameters.recommended
    /// The addresses of gateways, whose `X-Forwarded-For` is trusted.
    var gatewayAddresses = AddressRanges.loopback

    init() {}

    /// Reads the settings.
    ///
    /// - `ACCESS_TOKEN_SECONDS` (3600): the lifetime of an access token.
    /// - `SESSION_IDLE_DAYS` (30), `SESSION_DAYS` (90): the lifetime of a session without a refresh, and with
    ///   refreshes.
    /// - `LOGIN_FAILURES` (10): failed logins within `LOGIN_WINDOW_SECONDS` (900) that throttle an account; 0 is off.
    /// - `LOGIN_FAILURES_ADDRESS` (100): the same limit for an IP address.
    /// - `LOGINS_PER_MINUTE` (60): login attempts for one name, successful or not; 0 is off.
    /// - `HASHING_THREADS` (half the cores), `HASHING_QUEUE` (64): threads that hash passwords, and requests that may
    ///   wait.
    /// - `BREACHED_PASSWORDS` (none): a file of passwords, as SHA-1 hashes, that auth rejects.
    /// - `MESSAGES_PATH` (none): a folder of message catalogs, `auth/<lang>.json`.
    /// - `DELETION_SECOND_PASS_SECONDS` (60): the delay before services are requested a second time to delete a user's
    ///   data.
    /// - `EXPORTS_MAX` (4): account exports that run at the same time in one process.
    /// - `AUDIT_DAYS` (365): the retention of security events.
    /// - `APPLICATIONS_OPEN` (0): whether every user may create applications (1), or only administrators (0).
    /// - `GATEWAY_ADDRESSES` (`127.0.0.0/8,::1`): addresses whose `X-Forwarded-For` is trusted.
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
        loginsPerMinute = try configuration.number("LOGINS_PER_MINUTE", default: loginsPerMinute, in: 0...1_000_000)
        hashingThreads = try configuration.number("HASHING_THREADS", default: hashingThreads, in: 1...256)
        hashingQueue = try configuration.number("HASHING_QUEUE", default: hashingQueue, in: 0...10_000)
        breachedPasswords = configuration.text("BREACHED_PASSWORDS")
        messagesPath = configuration.text("MESSAGES_PATH")
        maximumExports = try configuration.number("EXPORTS_MAX", default: maximumExports, in: 1...1_000)
        auditDays = try configuration.number("AUDIT_DAYS", default: auditDays, in: 1...3_650)
        deletionSecondPassDelay = try configuration.number(
            "DELETION_SECOND_PASS_SECONDS",
            default: deletionSecondPassDelay,
            in: 0...86_400
        )
        applicationsAreOpen = try configuration.flag("APPLICATIONS_OPEN", default: applicationsAreOpen)
        if let ranges = configuration.text("GATEWAY_ADDRESSES") {
            guard let ranges = AddressRanges(ranges) else {
                throw SettingError("GATEWAY_ADDRESSES", "must be addresses or ranges like 10.0.0.0/8, comma-separated")
            }
            gatewayAddresses = ranges
        }
    }

    /// Seconds after a session's end during which its access tokens may be unexpired: the token lifetime and 60 s of
    /// clock skew.
    var revocationLifetime: Int { accessTokenLifetime + 60 }
}
