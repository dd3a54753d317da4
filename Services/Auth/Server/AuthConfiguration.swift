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
    ///
    /// 15 minutes is the usual length: a user who is slowed down can wait for its end, and an attacker gets fewer than
    /// a thousand attempts a day at one account. `LOGIN_FAILURES` sets the number.
    var loginWindow = 900
    var hashingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    /// The most sign-ins and registrations that wait for a hashing thread.
    ///
    /// A hash takes 20–40 ms, so that one thread empties the queue within 3 s, before a client gives up.
    var hashingQueue = 64
    var breachedPasswords: String?
    var messagesPath: String?
    /// The exports in progress in one process.
    ///
    /// An export compresses for its whole duration, so that more than a few would take the cores from sign-ins.
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
    /// - `LOGIN_FAILURES` (10): failed logins within 15 minutes that throttle an account; 0 is off.
    /// - `LOGIN_FAILURES_PER_ADDRESS_MAX` (100): the same limit for an IP address.
    /// - `LOGINS_PER_MINUTE` (60): login attempts for one name, successful or not; 0 is off.
    /// - `HASHING_THREADS` (half the cores): threads that hash passwords.
    /// - `BREACHED_PASSWORDS_FILE` (none): a file of passwords, as SHA-1 hashes, that auth rejects.
    /// - `MESSAGES_PATH` (none): a folder of message catalogs, `auth/<lang>.json`.
    /// - `DELETION_SECOND_PASS_SECONDS` (60): the delay before services are requested a second time to delete a user's
    ///   data.
    /// - `AUDIT_RETENTION_DAYS` (365): the retention of security events.
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
            "LOGIN_FAILURES_PER_ADDRESS_MAX",
            default: loginFailuresPerAddress,
            in: 0...1_000_000
        )
        loginsPerMinute = try configuration.number("LOGINS_PER_MINUTE", default: loginsPerMinute, in: 0...1_000_000)
        hashingThreads = try configuration.number("HASHING_THREADS", default: hashingThreads, in: 1...256)
        breachedPasswords = configuration.text("BREACHED_PASSWORDS_FILE")
        messagesPath = configuration.text("MESSAGES_PATH")
        auditDays = try configuration.number("AUDIT_RETENTION_DAYS", default: auditDays, in: 1...3_650)
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
