import Credentials
import Logging
import NIOCore

/// The state that all connections share: settings, routes, limits and credentials.
///
/// The state is immutable. When settings change, a successor replaces it and shares the parts that must be kept, such
/// as connection counts.
final class GatewayState: Sendable {
    let configuration: GatewayConfiguration
    let routes: RouteTable
    /// The clusters, in the order of the configuration's services.
    let clusters: [UpstreamCluster]
    let limits: RateLimits
    let credentials: CredentialVerifier
    let cors: CORSPolicy
    let pages: GatewayPages
    let logger: Logger
    let loopCount: Int
    let connections: ClientConnections

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
        connections = ClientConnections()
        limits = RateLimits(configuration: configuration)
        routes = RouteTable(document: document, services: configuration.services)
        clusters = configuration.services.map { UpstreamCluster($0, rules: configuration.healthRules) }
        cors = CORSPolicy(origins: configuration.corsOrigins)
        pages = GatewayPages(
            document: document,
            clusters: clusters,
            credentials: credentials,
            isCompressed: configuration.compressesResponses
        )
    }

    /// Creates the successor of `previous` with other settings.
    ///
    /// The routes are kept, because the release defines which path belongs to which service. Route numbers and service
    /// indexes therefore stay the same.
    init(_ previous: GatewayState, configuration: GatewayConfiguration) {
        self.configuration = configuration
        credentials = previous.credentials
        logger = previous.logger
        loopCount = previous.loopCount
        connections = previous.connections
        routes = previous.routes
        limits = RateLimits(configuration: configuration, tables: previous.limits.tables)
        clusters = zip(configuration.services, previous.clusters).map { service, cluster in
            UpstreamCluster(service, rules: configuration.healthRules, previous: cluster)
        }
        cors = CORSPolicy(origins: configuration.corsOrigins)
        pages = previous.pages.replacingClusters(clusters)
    }
}
