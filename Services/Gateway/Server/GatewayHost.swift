import Credentials
import ServiceClient
import ServiceHost

package enum GatewayHost {
    package static func run() async {
        await Boot.run("gateway") { boot in
            let configuration = try GatewayConfiguration(reader: boot.configuration)
            let tokens = ServiceTokens(
                keys: try ServiceKeys(configuration: boot.configuration, name: "gateway", logger: boot.logger)
            )
            let toAuth = try ReloadableTransport(settings: boot.configuration)
            let auth = ServiceClient(callee: "auth", transport: toAuth) { "Bearer \(try tokens.token(for: "auth"))" }
            let credentials = CredentialVerifier(
                source: HTTPCredentialSource(auth: auth),
                issuer: try boot.configuration.baseURLs("PUBLIC_URL", default: "http://127.0.0.1:8080")[0],
                logger: boot.logger
            )
            let gateway = GatewayService(
                configuration: configuration,
                credentials: credentials,
                document: try .embedded(),
                logger: boot.logger
            )
            let reload = ReloadOnSIGHUP([toAuth, gateway], logger: boot.logger, reading: boot.readSettings)
            let watchdog = Watchdog("gateway", watching: gateway.watchdogSubjects)
            guard configuration.managementPort > 0 else { return [credentials, reload, gateway, watchdog] }
            let listener = MetricsListener(
                host: configuration.managementHost,
                port: configuration.managementPort,
                metrics: boot.metrics,
                isReady: { gateway.isReady }
            )
            return [credentials, listener, reload, gateway, watchdog]
        }
    }
}
