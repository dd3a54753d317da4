import Configuration
import Foundation
import ServiceHost
import ServiceLifecycle

struct IdentityModule: Sendable {
    let identities: Identities
    private let consents: Consents
    private let revocations: IdentityRevocations
    private let http: ProviderHTTP
    private let resources: ServiceResources

    init(
        _ settings: IdentityConfiguration,
        resources: ServiceResources,
        encryptor: TokenEncryptor,
        throttle: LoginThrottle,
        signIns: SignIns,
        reauthentication: Reauthentication,
        earlierCredentials: EarlierCredentials,
        audit: Audit
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        http = try ProviderHTTP(trustedCA: settings.trustedCA)
        let providers = settings.providers(http, logger: logger, now: now)
        consents = Consents(
            database: database,
            encryptor: encryptor,
            providers: providers,
            redirectURLs: settings.redirectURLs,
            publicURL: resources.publicURL,
            now: now
        )
        identities = Identities(
            database: database,
            encryptor: encryptor,
            providers: providers,
            redirectURLs: settings.redirectURLs,
            consents: consents,
            linking: IdentityLinking(
                events: resources.events,
                reauthentication: reauthentication,
                earlierCredentials: earlierCredentials,
                audit: audit,
                now: now
            ),
            throttle: throttle,
            signIns: signIns,
            now: now
        )
        revocations = IdentityRevocations(
            database: database,
            encryptor: encryptor,
            providers: providers,
            logger: logger,
            now: now
        )
        self.resources = resources
    }

    func routes(_ clientInfo: ClientInfoReader) -> IdentityRoutes {
        IdentityRoutes(
            identities: identities,
            consents: consents,
            credentials: resources.credentials,
            clientInfo: clientInfo
        )
    }

    var background: [any Service] {
        let logger = resources.logger
        return [
            http,
            PeriodicTask("revocation of identities", every: .seconds(15), logger: logger, revocations.deliver),
        ]
    }
}
