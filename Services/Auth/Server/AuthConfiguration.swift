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
    /// Logins by one name in a minute, right or wrong; 0 is no limit.
    var loginsPerMinute = 60
    /// Seconds that a window of failed logins lasts.
    var loginWindow = 900
    /// Threads that hash passwords.
    var hashingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    /// Sign-ins and registrations that may wait for a hashing thread.
    var hashingQueue = 64
    /// A file of passwords that nobody may choose.
    var breachedPasswords: String?
    /// The operator's folder of message catalogues.
    var messagesPath: String?
    /// Exports of accounts that are made at once.
    var maximumExports = 4
    /// How long what happened to an account is kept, in days.
    var auditDays = 365
    /// Seconds after which nothing is under way any more that began before somebody was deleted.
    var deletionSecondPassDelay = 60
    /// Whether every user with an account of their own creates applications; otherwise administrators alone do.
    var applicationsAreOpen = false
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
    /// - `LOGINS_PER_MINUTE` (60): logins by one name, whether the password is right or not; 0 is off.
    /// - `HASHING_THREADS` (half the cores), `HASHING_QUEUE` (64): who hashes passwords, and how many may wait.
    /// - `BREACHED_PASSWORDS` (none): a file of passwords that nobody may choose, by their SHA-1.
    /// - `MESSAGES_PATH` (none): a folder of message catalogues, `auth/<lang>.json`.
    /// - `DELETION_SECOND_PASS_SECONDS` (60): after which services are asked once more to wipe somebody who was deleted.
    /// - `EXPORTS_MAX` (4): exports of accounts that one process makes at once.
    /// - `AUDIT_DAYS` (365): how long security events are kept.
    /// - `APPLICATIONS_OPEN` (0): whether users create applications (1), or administrators alone (0).
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

    /// Seconds after a session's end during which a jwt of it may still be shown: the longest life, and clocks apart.
    var revocationLifetime: Int { accessTokenLifetime + 60 }
}
