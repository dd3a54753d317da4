package import Configuration
package import Foundation
import ServiceHost

/// What may be set of the sandbox; in tests ports are any that are free.
package struct SandboxConfiguration: Sendable {
    /// The address listened on.
    package var host = "127.0.0.1"
    /// FCM, web push, scripts and the page, in cleartext; 0 takes any port.
    package var port = 0
    /// APNs for production's device tokens.
    package var apnsPort = 0
    /// APNs for those of development's, `api.sandbox.push.apple.com`.
    package var apnsSandboxPort = 0
    /// The mail server, by STARTTLS.
    package var smtpPort = 0
    /// Further names in the certificate, beside those of this machine and `sandbox`.
    ///
    /// None, because compose calls the sandbox `sandbox` and all other clients are on this machine.
    package var names: [String] = []
    /// Where keys are kept, so that they are the same after a restart; without it they last as long as the process.
    package var folder: String?
    /// Keys that there are already, as in tests, of which each would else take a moment to make its own.
    package var keys: SandboxKeys?
    /// How many of the newest notifications are kept, of 64 MiB in all at most.
    package var retentionLimit = 10_000
    /// Threads that carry connections; 0 is one a core.
    package var threads = 0
    /// Connections at once on each port; one more is closed.
    package var connectionLimit = 10_000
    /// How many tokens signed by one key APNs takes within 20 minutes, before it says that they change too often.
    package var tokensPerKey = 100
    /// How many posts each social network has at its start.
    package var posts = 400
    package var now: @Sendable () -> Date = { Date() }

    package init() {}

    /// Reads the settings.
    ///
    /// - `HOST` (`127.0.0.1`), `PORT` (8090): FCM, web push, scripts and the page.
    /// - `SANDBOX_APNS_PORT` (8091), `SANDBOX_APNS_SANDBOX_PORT` (8092): APNs over TLS, for each kind of device token.
    /// - `SANDBOX_SMTP_PORT` (8093): the mail server.
    /// - `SANDBOX_FOLDER` (none): where its keys are kept.
    /// - `SANDBOX_NOTIFICATIONS_MAX` (10000): how many of the newest notifications it keeps.
    /// - `SANDBOX_POSTS` (400): how many posts each social network has at its start.
    package init(reader: ConfigReader) throws {
        host = reader.text("HOST", default: host)
        port = try reader.number("PORT", default: 8_090, in: 0...65_535)
        apnsPort = try reader.number("SANDBOX_APNS_PORT", default: 8_091, in: 0...65_535)
        apnsSandboxPort = try reader.number("SANDBOX_APNS_SANDBOX_PORT", default: 8_092, in: 0...65_535)
        smtpPort = try reader.number("SANDBOX_SMTP_PORT", default: 8_093, in: 0...65_535)
        folder = reader.text("SANDBOX_FOLDER")
        retentionLimit = try reader.number("SANDBOX_NOTIFICATIONS_MAX", default: retentionLimit, in: 1...1_000_000)
        posts = try reader.number("SANDBOX_POSTS", default: posts, in: 0...100_000)
    }
}
