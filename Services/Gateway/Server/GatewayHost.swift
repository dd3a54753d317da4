import Credentials
import ServiceClient
import ServiceHost

/// Runs the gateway as a process of the suite.
package enum GatewayHost {
    package static func run() async {
        await Boot.run("gateway") { boot in
            let configuration = try GatewayConfiguration(reader: boot.configuration)
            let secret = try boot.configuration.secret("SERVICE_SECRET")
            let neighbours = Neighbours.overHTTP(
                configuration: boot.configuration,
                tokens: try ServiceTokens(secret: secret, name: "gateway")
            )
            let credentials = CredentialVerifier(
                source: HTTPCredentialSource(auth: try neighbours.client("auth")),
                issuer: try boot.configuration.baseURLs("PUBLIC_URL", default: "http://127.0.0.1:8080")[0],
                logger: boot.logger
            )
            let gateway = GatewayService(
                configuration: configuration,
                credentials: credentials,
                document: try .embedded(),
                logger: boot.logger
            )
            guard configuration.managementPort > 0 else { return [credentials, gateway] }
            let listener = MetricsListener(port: configuration.managementPort, metrics: boot.metrics)
            return [credentials, listener, gateway]
        }
    }
}
