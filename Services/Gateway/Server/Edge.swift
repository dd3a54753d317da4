import Credentials
import Logging
import Metrics
import NIOCore
import Synchronization

/// What every connection needs to know: the settings, the routes, who may come in.
///
/// Immutable but for a count.
final class Edge: Sendable {
    let configuration: GatewayConfiguration
    let routes: RouteTable
    let credentials: CredentialVerifier
    let cors: Cors
    let pages: OwnPages
    let logger: Logger
    let loopCount: Int
    /// Client connections that are open, on all loops.
    let connectionCount = Atomic<Int>(0)
    let connectionGauge = Gauge(label: "roost_gateway_connections")

    init(
        configuration: GatewayConfiguration,
        credentials: CredentialVerifier,
        document: OpenAPIDocument,
        loopCount: Int,
        logger: Logger
    ) {
        self.configuration = configuration
        self.credentials = credentials
        self.logger = logger
        self.loopCount = loopCount
        routes = RouteTable(document: document, services: configuration.services)
        cors = Cors(origins: configuration.corsOrigins)
        pages = OwnPages(document: document, services: configuration.services, credentials: credentials)
    }
}
