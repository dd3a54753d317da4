import Configuration
import Foundation
import ServiceHost
import ServiceLifecycle

/// What auth has for signing in by accounts elsewhere, put together.
struct IdentityParts: Sendable {
    let identities: Identities
    private let consents: Consents
    private let revocations: IdentityRevocations
    private let http: ProviderHTTP
    private let resources: ServiceResources

    init(
        _ settings: IdentityConfiguration,
        resources: ServiceResources,
        sealer: Sealer,
        throttle: LoginThrottle,
        signIns: SignIns,
        reauthentication: Reauthentication,
        earlier: EarlierCredentials,
        audit: Audit
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        http = try ProviderHTTP(trustedCA: settings.trustedCA)
        let providers = settings.providers(http, logger: logger, now: now)
        consents = Consents(
            database: database,
            sealer: sealer,
            providers: providers,
            redirectURLs: settings.redirectURLs,
            publicURL: resources.publicURL,
            now: now
        )
        identities = Identities(
            database: database,
            sealer: sealer,
            providers: providers,
            redirectURLs: settings.redirectURLs,
            consents: consents,
            linking: IdentityLinking(
                events: resources.events,
                reauthentication: reauthentication,
                earlier: earlier,
                audit: audit,
                now: now
            ),
            throttle: throttle,
            signIns: signIns,
            now: now
        )
        revocations = IdentityRevocations(
            database: database,
            sealer: sealer,
            providers: providers,
            logger: logger,
            now: now
        )
        self.resources = resources
    }

    func routes(_ callers: Callers) -> IdentityRoutes {
        IdentityRoutes(
            identities: identities,
            consents: consents,
            credentials: resources.credentials,
            callers: callers
        )
    }

    var background: [any Service] {
        let logger = resources.logger
        return [
            http,
            Periodic("revocation of identities", every: .seconds(15), logger: logger, revocations.tell),
        ]
    }
}
