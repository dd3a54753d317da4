import PushAPI
import ServiceHost
import ServiceLifecycle

/// The module of broadcasts: the poller, the queries and the import of follows.
struct BroadcastModule: Sendable {
    private let routes: BroadcastRoutes
    let communities: BroadcastCommunities
    let background: [any Service]

    init(
        _ resources: ServiceResources,
        source: BroadcastSource?,
        sources: Sources,
        networkGateway: NetworkGateway
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let push = try resources.peers.client("push")
        let imports = FollowImports(
            sources: sources,
            networkGateway: networkGateway,
            push: SubscriptionsClient(push),
            database: database,
            logger: logger,
            now: now
        )
        communities = BroadcastCommunities(database: database)
        routes = BroadcastRoutes(
            broadcasts: BroadcastQueries(
                isPolled: source != nil,
                database: database,
                push: push,
                logger: logger,
                now: now
            ),
            communities: communities,
            imports: imports
        )
        var work: [any Service] = [
            PeriodicTask("import of follows", every: .seconds(60), logger: logger, imports.runDue)
        ]
        if let source {
            let poller = BroadcastPoller(
                source: source,
                database: database,
                events: resources.events,
                logger: logger,
                now: now
            )
            work += [
                // Far shorter than a poll interval, so that the time in the database decides when the next poll starts.
                PeriodicTask("poll of broadcasts", every: .milliseconds(250), logger: logger, poller.round),
                PeriodicTask("sweep of broadcasts", every: .seconds(3_600), logger: logger, poller.sweep),
            ]
        }
        background = work
    }

    func add(to routes: SuiteRoutes) { self.routes.add(to: routes) }
}
