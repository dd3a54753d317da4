import Foundation
import Locks
package import Logging
import ServiceLifecycle

/// Simulates external services on this machine: push services, social networks, identity providers and a mail server.
///
/// They validate as strictly as the real services, fail when a script rule demands it, and show what they received. Run
/// the sandbox as a service, or in a test with `Sandbox.run`.
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

    /// Creates the sandbox, and loads or creates its keys.
    ///
    /// Blocks meanwhile, possibly for seconds.
    ///
    /// - Throws: `SettingError` when the keys cannot be written.
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

    /// Runs a sandbox on free ports until `body` returns.
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
        // Throws when the task is cancelled, which stops the sandbox too.
        try? await gracefulShutdown()
        await stop()
    }

    package func start() async throws {
        let host = configuration.host
        let production = try await listeners.open(.apns(.production), host: host, port: configuration.apnsPort)
        let sandbox = try await listeners.open(.apns(.sandbox), host: host, port: configuration.apnsSandboxPort)
        let smtp = try await listeners.open(.smtp, host: host, port: configuration.smtpPort)
        ports.all = (0, production, sandbox, smtp)
        // This port opens last, so that a client that finds it open can use all ports.
        let web = try await listeners.open(.web, host: host, port: configuration.port)
        ports.all.web = web
        logger.info("listening", metadata: ["url": "\(url)", "apns": "\(apnsURL)", "apnsSandbox": "\(apnsSandboxURL)"])
    }

    package func stop() async {
        await listeners.close()
        await networks.stop()
    }

    // MARK: Addresses

    /// The base address, such as `http://127.0.0.1:8090`, which also serves the script rules and the page.
    package var url: String { "http://\(name):\(ports.all.web)" }
    package var apnsURL: String { "https://\(name):\(ports.all.production)" }
    package var apnsSandboxURL: String { "https://\(name):\(ports.all.sandbox)" }
    package var fcmURL: String { "\(url)/fcm" }
    package var fcmTokenURL: String { "\(url)/fcm/token" }

    package var authorityPEM: String { keys.authority.pem }

    private var name: String {
        switch configuration.host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        case let host where host.contains(":"): "[\(host)]"
        case let host: host
        }
    }

    // MARK: Credentials

    /// Returns the settings and keys with which a push server can push here as an account, which is created when
    /// needed.
    package func credentials(of account: String = "roost") throws -> SandboxCredentials {
        try web.credentials(account, at: url)
    }

    /// Creates a browser's subscription, to which only the owner of `serverKey` can push unless it is nil.
    package func subscribe(serverKey: String? = nil) throws -> WebSubscription {
        try keys.subscriptions.make(at: url, for: serverKey)
    }
}
