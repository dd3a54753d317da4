import Credentials
import Logging
import NIOCore

/// What every connection needs to know: the settings, the routes, who may come in.
///
/// Immutable; when settings change, another takes its place, which shares with it what must outlive that.
final class GatewayState: Sendable {
    let configuration: GatewayConfiguration
    let routes: RouteTable
    /// By service, as in the configuration.
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

    /// The successor of `previous` with other settings.
    ///
    /// Which path is which service's stays as it is: that belongs to the release, and so do a route's number and a
    /// service's place.
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
