package import Configuration
package import Credentials
package import Foundation
import HTTPTypes
package import Hummingbird
package import Logging
package import Postgres
import ServiceClient
package import ServiceLifecycle
import Wire

/// The runtime of a service: settings, logs, metrics, database, routes, background work and graceful shutdown.
///
/// Services may start in any order. A service waits for the data that it needs from another one, and its `/ready` fails
/// until then.
package enum ServiceHost {
    /// Runs a service until SIGTERM, SIGINT or, under a supervisor, the end of standard input.
    package static func run<Service: SuiteService>(_ type: Service.Type) async throws {
        await Boot.run(Service.name) { boot in
            let configuration = boot.configuration
            // `roost migrate` sets it; it is no setting of an operator.
            if try configuration.flag("MIGRATE_ONLY") {
                await (try await Database.open(for: type, boot: boot)).shutdown()
                return []
            }
            let keys = try ServiceKeys(configuration: configuration, name: Service.name, logger: boot.logger)
            let tokens = ServiceTokens(keys: keys)
            let peers = PeerServices.overHTTP(configuration: configuration, tokens: tokens)
            let database = try await Database.open(for: type, boot: boot)
            let drain = Drain(longest: try drainDelay(configuration), logger: boot.logger)
            let host = try await assemble(
                type,
                database: database,
                peers: peers,
                tokens: tokens,
                secrets: keys.ownSecrets,
                configuration: configuration,
                logger: boot.logger,
                metrics: boot.metrics,
                drain: drain
            )
            let port = try configuration.number("PORT", default: Service.defaultPort, in: 0...65_535)
            let address = configuration.text("HOST", default: "127.0.0.1")
            return [database, host.verifier] + host.background
                + host.server(host: address, port: port, logger: boot.logger)
        }
    }

    /// Returns the time for which a stopping service still accepts connections, at most half of `DRAIN_TIMEOUT`.
    ///
    /// The rest of `DRAIN_TIMEOUT` remains for requests in progress.
    private static func drainDelay(_ configuration: ConfigReader) throws -> Duration {
        let whole = try configuration.number("DRAIN_TIMEOUT", default: 30, in: 1...3_600)
        let delay = try configuration.number("DRAIN_DELAY", default: 5, in: 0...3_600)
        return min(.seconds(delay), .seconds(whole) / 2)
    }

    /// Assembles a service without its server; tests send requests directly to its router.
    ///
    /// Tests of limits that are constants pass `makeService`, which creates the service with other values.
    package static func assemble<Service: SuiteService>(
        _ type: Service.Type,
        database: PostgresPool,
        peers: PeerServices,
        tokens: ServiceTokens,
        secrets: [String],
        configuration: ConfigReader,
        logger: Logger,
        metrics: PrometheusRegistry? = nil,
        applications: Set<String> = [RoostApplication.id],
        drain: Drain? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        makeService: (ServiceResources, ConfigReader) async throws -> Service = {
            try await Service(resources: $0, configuration: $1)
        }
    ) async throws -> AssembledService {
        let drain = drain ?? Drain(longest: .zero, logger: logger)
        let publicURL = try configuration.baseURLs("PUBLIC_URL", default: "http://127.0.0.1:8080")[0]
        let verifier = CredentialVerifier(
            source: try await Service.credentialSource(
                database: database,
                peers: peers,
                configuration: configuration,
                now: now
            ),
            issuer: publicURL,
            logger: logger,
            applications: applications,
            now: now
        )
        let subscribers = try EventSubscribers(configuration, types: Service.events, peers: peers)
        let setAside = SetAside(
            Service.setAsideKinds + (Service.events.isEmpty ? [] : [.event]),
            database: database,
            logger: logger,
            now: now
        )
        let service = try await makeService(
            ServiceResources(
                database: database,
                peers: peers,
                credentials: verifier,
                cursors: CursorSigner(secrets: secrets),
                links: LinkSigner(secrets: secrets),
                events: EventOutbox(subscribers: subscribers, now: now),
                setAside: setAside,
                logger: logger,
                publicURL: publicURL,
                now: now
            ),
            configuration
        )

        let methods = RouteMethods()
        let router = Router(context: SuiteContext.self, options: .autoGenerateHeadEndpoints)
        let recorder = RequestRecorder(service: Service.name, drain: drain)
        router.add(middleware: RequestMiddleware(recorder: recorder, allowedMethods: methods))
        HealthRoutes(database: database, verifier: verifier, metrics: metrics, drain: drain).add(to: router)
        let openLimit = UploadConcurrencyLimit(bytes: BodyLimits.openLarge)
        // A body without a length takes no slot; otherwise a few endless bodies would block those of all other clients.
        let open = router.group()
            .add(middleware: ReadCredential(verifier: verifier, isRequired: false))
            .add(middleware: BodyConcurrencyLimit(large: openLimit, undeclared: JSONLimits.open.bytes) { _ in nil })
        let deliveries = router.group()
            .add(middleware: BodyConcurrencyLimit(large: openLimit) { _ in nil })
        let large = UploadConcurrencyLimit(bytes: BodyLimits.large)
        let userBodies = BodyConcurrencyLimit<UserContext>(large: large, ofUser: BodyLimits.ofUser, user: \.user)
        let user = router.group()
            .add(middleware: ReadCredential(verifier: verifier, isRequired: true))
            .group(context: UserContext.self)
            .add(middleware: userBodies)
            .add(middleware: Idempotency(store: IdempotencyStore(db: database), now: now))
        let streams = router.group()
            .add(middleware: ReadStreamCredential(verifier: verifier))
            .group(context: UserContext.self)
            .add(middleware: userBodies)
        let server = router.group()
            .add(middleware: ReadCredential(verifier: verifier, isRequired: true))
            .group(context: ServerContext.self)
            .add(middleware: BodyConcurrencyLimit(large: large, ofUser: BodyLimits.ofUser, user: \.identity.user))
            .add(middleware: Idempotency(store: IdempotencyStore(db: database), now: now))
        let internalRoutes = router.group("internal")
            .group(context: InternalContext.self)
            .add(middleware: ReadServiceToken(tokens: tokens))
        let standardRoutes = router.group()
            .group(context: InternalContext.self)
            .add(middleware: ReadServiceToken(tokens: tokens))
        let groups = SuiteRoutes(
            open: open,
            deliveries: deliveries,
            user: user,
            streams: streams,
            server: server,
            internalRoutes: internalRoutes,
            standardRoutes: standardRoutes
        )
        service.addRoutes(to: groups)
        SetAsideRoutes(setAside: setAside).add(to: groups)
        // The routes as added; buildResponder() adds a HEAD route for each GET.
        let routes = router.routes
        methods.set(routes)
        let sweep = PeriodicTask("idempotency key cleanup", every: .seconds(600), logger: logger) {
            try await IdempotencyStore(db: database).sweep(now: now())
        }
        return AssembledService(
            responder: router.buildResponder(),
            routes: routes.map { ($0.method.rawValue, $0.path.description) },
            verifier: verifier,
            drain: drain,
            gate: service.gate ?? service.shortcut.map { ConnectionGate($0, recorder: recorder, logger: logger) },
            background: service.background + [sweep, setAside.background]
                + EventOutboxWorker.all(
                    to: subscribers,
                    database: database,
                    setAside: setAside,
                    logger: logger,
                    now: now
                )
        )
    }

    /// Returns all migrations of a service, including those of the host.
    ///
    /// The host's migrations have the number 0000, so that each later migration of a service sorts after them.
    package static func migrations(of type: (some SuiteService).Type) -> [Migration] {
        IdempotencyStore.migrations + [SetAside.migration] + type.migrations
    }
}

/// A service without its server, ready to be served or tested.
package struct AssembledService: Sendable {
    package let responder: RouterResponder<SuiteContext>
    /// The method and path of each route, such as `GET` and `/auth/users`, to compare with the OpenAPI document.
    package let routes: [(method: String, path: String)]
    package let verifier: CredentialVerifier
    package let drain: Drain
    package let gate: ConnectionGate?
    package let background: [any Service]
}
