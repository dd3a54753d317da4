package import Configuration
package import Foundation
import ServiceHost

/// The settings of the sandbox, with defaults for tests, in which each port is any free one.
package struct SandboxConfiguration: Sendable {
    /// The address that the sandbox listens on.
    package var host = "127.0.0.1"
    /// The port of FCM, Web Push, the networks, script rules and the page, in cleartext; 0 means any free port.
    package var port = 0
    package var apnsPort = 0
    /// The port of APNs for development device tokens (`api.sandbox.push.apple.com`).
    package var apnsSandboxPort = 0
    /// The port of the mail server, with STARTTLS.
    package var smtpPort = 0
    /// Further host names in the certificate.
    ///
    /// None: compose uses the name `sandbox`, and all other clients are on this machine.
    package var names: [String] = []
    /// The folder of the keys, so that they survive a restart; nil keeps them until the process ends.
    package var folder: String?
    /// Existing keys, which tests share because creating keys is slow.
    package var keys: SandboxKeys?
    /// How many of the newest notifications are stored, up to 64 MiB in total.
    package var retentionLimit = 10_000
    /// The number of event loop threads; 0 means one per core.
    package var threads = 0
    /// The maximum number of connections per port; further connections are closed.
    package var connectionLimit = 10_000
    /// How many tokens of one key APNs accepts within 20 minutes before it responds `TooManyProviderTokenUpdates`.
    package var tokensPerKey = 100
    package var posts = 400
    package var now: @Sendable () -> Date = { Date() }

    package init() {}

    /// Reads the settings.
    ///
    /// - `HOST` (`127.0.0.1`), `PORT` (8090): FCM, Web Push, the networks, script rules and the page.
    /// - `SANDBOX_APNS_PORT` (8091), `SANDBOX_APNS_SANDBOX_PORT` (8092): APNs over TLS, for each kind of device token.
    /// - `SANDBOX_SMTP_PORT` (8093): the mail server.
    /// - `SANDBOX_FOLDER` (none): the folder of the keys.
    /// - `SANDBOX_NOTIFICATIONS_MAX` (10000): how many of the newest notifications are stored.
    /// - `SANDBOX_POSTS` (400): the number of posts that each social network has at the start.
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
