import Credentials
import Logging
import NIOCore

/// What every connection needs to know: the settings, the routes, who may come in.
///
/// Immutable; when settings change, another takes its place, which shares with it what must outlive that.
final class Edge: Sendable {
    let configuration: GatewayConfiguration
    let routes: RouteTable
    /// By service, as in the configuration.
    let fleets: [ServiceFleet]
    let limits: RateLimits
    let credentials: CredentialVerifier
    let cors: Cors
    let pages: OwnPages
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
        fleets = configuration.services.map { ServiceFleet($0, rules: configuration.healthRules) }
        cors = Cors(origins: configuration.corsOrigins)
        pages = OwnPages(
            document: document,
            fleets: fleets,
            credentials: credentials,
            isCompressed: configuration.compresses
        )
    }

    /// The successor of `former` with other settings.
    ///
    /// Which path is which service's stays as it is: that belongs to the release, and so do a route's number and a
    /// service's place.
    init(_ former: Edge, configuration: GatewayConfiguration) {
        self.configuration = configuration
        credentials = former.credentials
        logger = former.logger
        loopCount = former.loopCount
        connections = former.connections
        routes = former.routes
        limits = RateLimits(configuration: configuration, tables: former.limits.tables)
        fleets = zip(configuration.services, former.fleets).map { service, fleet in
            ServiceFleet(service, rules: configuration.healthRules, former: fleet)
        }
        cors = Cors(origins: configuration.corsOrigins)
        pages = former.pages.showing(fleets)
    }
}
