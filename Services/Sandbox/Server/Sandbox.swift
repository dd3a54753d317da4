import Foundation
import Locks
package import Logging
import ServiceLifecycle

/// The outside world on this machine: APNs, FCM and a browser's push service, as strict as the real ones, which can be
/// told to fail, and which show what they have taken.
///
/// Run it as a service, or in a test by `Sandbox.run`.
package final class Sandbox: Service {
    package let script: Script
    package let received: ReceivedNotifications
    package let devices: APNsDevices
    package let networks: Networks
    package let mailbox: Mailbox

    private let configuration: SandboxConfiguration
    private let logger: Logger
    private let keys: SandboxKeys
    private let web: Web
    private let listeners: Listeners
    private let ports: Ports

    private final class Ports: Sendable {
        private let numbers = Lock((web: 0, production: 0, sandbox: 0, smtp: 0))

        var all: (web: Int, production: Int, sandbox: Int, smtp: Int) {
            get { numbers.withLock { $0 } }
            set { numbers.withLock { $0 = newValue } }
        }
    }

    /// Makes its keys, or finds those that it has kept; blocks for as long as that takes.
    ///
    /// - Throws: `SettingError` where keys cannot be kept where it is told to.
    package init(_ configuration: SandboxConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        let now = configuration.now
        let keys = try configuration.keys ?? SandboxKeys(storedIn: configuration.folder)
        self.keys = keys
        let received = ReceivedNotifications(capacity: configuration.retentionLimit, now: now)
        let script = Script()
        let devices = APNsDevices()
        let ports = Ports()
        let networks = Networks(
            script: script,
            received: received,
            accounts: keys.accounts,
            now: now,
            posts: configuration.posts
        )
        self.networks = networks
        let mailbox = Mailbox(capacity: configuration.retentionLimit, now: now)
        self.mailbox = mailbox
        web = Web(
            received: received,
            script: script,
            devices: devices,
            accounts: keys.accounts,
            fcm: FCM(
                tokens: AccessTokens(accounts: keys.accounts, script: script, received: received, now: now),
                script: script,
                received: received
            ),
            webPush: WebPush(
                subscriptions: keys.subscriptions,
                vapid: Vapid(now: now),
                script: script,
                received: received
            ),
            networks: networks,
            pages: PageFiles(),
            authorityPEM: keys.authority.pem,
            mailbox: mailbox,
            ports: { (ports.all.production, ports.all.sandbox, ports.all.smtp) }
        )
        let tokens = ProviderTokens(accounts: keys.accounts, tokensPerKey: configuration.tokensPerKey, now: now)
        listeners = Listeners(
            configuration: configuration,
            context: try keys.authority.serverContext(names: configuration.names, now: Date()),
            apns: APNs(tokens: tokens, devices: devices, script: script, received: received, now: now),
            web: web,
            mail: SMTPSession(mailbox: mailbox, logins: SMTPLogins(accounts: keys.accounts), script: script)
        )
        self.received = received
        self.script = script
        self.devices = devices
        self.ports = ports
    }

    /// Runs a sandbox on free ports for the time of `body`.
    package static func run<Result>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(),
        logger: Logger = Logger(label: "sandbox"),
        _ body: (Sandbox) async throws -> Result
    ) async throws -> Result {
        var logger = logger
        logger.logLevel = .warning
        let sandbox = try Sandbox(configuration, logger: logger)
        do {
            try await sandbox.start()
            let result = try await body(sandbox)
            await sandbox.stop()
            return result
        } catch {
            await sandbox.stop()
            throw error
        }
    }

    package func run() async throws {
        do {
            try await start()
        } catch {
            await stop()
            throw error
        }
        // Also returns, by throwing, when the task is cancelled: then it stops as well.
        try? await gracefulShutdown()
        await stop()
    }

    /// Opens its ports.
    package func start() async throws {
        let host = configuration.host
        let production = try await listeners.open(.apns(.production), host: host, port: configuration.apnsPort)
        let sandbox = try await listeners.open(.apns(.sandbox), host: host, port: configuration.apnsSandboxPort)
        let smtp = try await listeners.open(.smtp, host: host, port: configuration.smtpPort)
        ports.all = (0, production, sandbox, smtp)
        // Last, since who finds it ready finds everything.
        let web = try await listeners.open(.web, host: host, port: configuration.port)
        ports.all.web = web
        logger.info("listening", metadata: ["url": "\(url)", "apns": "\(apnsURL)", "apnsSandbox": "\(apnsSandboxURL)"])
    }

    /// Closes its ports and connections.
    package func stop() async {
        await listeners.close()
        await networks.stop()
    }

    // MARK: Where it is

    /// `http://127.0.0.1:8090`: scripts, the page, and what the other addresses begin with.
    package var url: String { "http://\(name):\(ports.all.web)" }
    package var apnsURL: String { "https://\(name):\(ports.all.production)" }
    package var apnsSandboxURL: String { "https://\(name):\(ports.all.sandbox)" }
    package var fcmURL: String { "\(url)/fcm" }
    package var fcmTokenURL: String { "\(url)/fcm/token" }

    /// The certificate of the authority that signed the sandbox's own.
    package var authorityPEM: String { keys.authority.pem }

    private var name: String {
        switch configuration.host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        case let host where host.contains(":"): "[\(host)]"
        case let host: host
        }
    }

    // MARK: What it gives

    /// All that a push server must be told to push here, as an account of that name; made where there is none.
    package func credentials(of account: String = "roost") throws -> SandboxCredentials {
        try web.credentials(account, at: url)
    }

    /// A browser's subscription, to which only who has `serverKey` may push, if it is said.
    package func subscribe(serverKey: String? = nil) throws -> WebSubscription {
        try keys.subscriptions.make(at: url, for: serverKey)
    }
}
