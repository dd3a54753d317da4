import AuthAPI
package import Configuration
package import Credentials
package import Foundation
import Hummingbird
import Logging
package import Postgres
package import ServiceHost
package import ServiceLifecycle
import Wire

/// The service for accounts, their sessions, and the keys with which every service verifies tokens.
package struct AuthService: SuiteService {
    package static let name = "auth"
    package static let defaultPort = 8081
    package static let migrations = [
        Migration(name: "V0001_create_auth", sql: PackageResources.V0001_create_auth_sql),
        EventOutbox.migration("V0002_create_event_outbox"),
        EventConsumer.migration("V0003_create_event_inbox"),
    ]
    package static let events: Set = [
        DeviceRegistered.type, SessionEnded.type, UserChanged.type, UserDeleted.type, NewDeviceSignIn.type,
        ApplicationDeleted.type,
    ]
    package static let setAsideKinds: [SetAsideKind] = [.email, .deletionJob, .deletedApplication]

    private let configuration: AuthConfiguration
    private let clientInfo: ClientInfoReader
    private let resources: ServiceResources
    private let keys: SigningKeys
    private let feed: RevocationFeed
    private let accounts: Accounts
    private let signIns: SignIns
    private let sessions: Sessions
    private let sessionRevocations: SessionRevocations
    private let applications: Applications
    private let applicationDeletions: ApplicationDeletions
    private let applicationLogins: ApplicationLogins
    private let pushSetups: PushSetups
    private let reencryption: Reencryption
    private let administrators: Administrators
    private let identityModule: IdentityModule
    private let tokenIntrospection: TokenIntrospection
    private let credentialModule: CredentialModule
    private let accountModule: AccountModule
    private let source: any CredentialSource

    package static func credentialSource(
        database: PostgresPool,
        peers: PeerServices,
        configuration: ConfigReader,
        now: @escaping @Sendable () -> Date
    ) async throws -> any CredentialSource {
        LocalCredentials(
            database: database,
            revocationLifetime: try AuthConfiguration(configuration).revocationLifetime,
            now: now
        )
    }

    /// The encrypted columns that are re-encrypted after a change of `TOKEN_ENCRYPTION_KEY`.
    static let encrypted = IdentityRevocations.encrypted + [PushSetups.encrypted, SecondFactors.encrypted]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        try await self.init(resources, configuration, AuthConfiguration(configuration))
    }

    init(_ resources: ServiceResources, _ configuration: ConfigReader, _ settings: AuthConfiguration) async throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let encryptor = try TokenEncryptor(keys: configuration.secret("TOKEN_ENCRYPTION_KEY"))
        let passwords = try Passwords(
            parameters: settings.argon2,
            threads: settings.hashingThreads,
            maximumWaiting: settings.hashingQueue,
            breached: settings.breachedPasswords.map { try BreachedPasswords(path: $0) }
        )
        let throttle = LoginThrottle(
            failures: settings.loginFailures,
            failuresPerAddress: settings.loginFailuresPerAddress,
            loginsPerMinute: settings.loginsPerMinute,
            window: settings.loginWindow
        )
        let texts = try AuthTexts(folder: settings.messagesPath)
        clientInfo = ClientInfoReader(gateway: settings.gatewayAddresses, texts: texts)
        let emailModule = try EmailModule(
            EmailConfiguration(configuration, publicURL: resources.publicURL),
            texts: texts,
            database: database,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )

        keys = SigningKeys(database: database, encryptor: encryptor, logger: logger, now: now)
        try await keys.load()
        feed = RevocationFeed(
            database: database,
            lifetime: settings.revocationLifetime,
            logger: logger,
            now: now,
            onRevoked: resources.credentials.revoke
        )
        try await feed.load()
        let audit = Audit(events: resources.events, emailOutbox: emailModule.emailOutbox, now: now)
        sessionRevocations = SessionRevocations(
            database: database,
            events: resources.events,
            feed: feed,
            audit: audit,
            now: now
        )
        source = LocalCredentials(
            database: database,
            revocationLifetime: settings.revocationLifetime,
            now: now
        )
        credentialModule = CredentialModule(
            resources,
            encryptor: encryptor,
            passwords: passwords,
            throttle: throttle,
            sessionRevocations: sessionRevocations,
            emailModule: emailModule,
            audit: audit,
            party: try PasskeyConfiguration(configuration, publicURL: resources.publicURL).party
        )
        let deletionJobs = DeletionJobs(
            database: database,
            events: resources.events,
            secondPassDelay: settings.deletionSecondPassDelay,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        applications = Applications(
            database: database,
            sessionRevocations: sessionRevocations,
            deletionJobs: deletionJobs,
            cursors: resources.cursors,
            threads: HashingThreads(count: 1, maximumWaiting: 8),
            isOpen: settings.applicationsAreOpen,
            logger: logger,
            now: now
        )
        applicationDeletions = ApplicationDeletions(
            database: database,
            sessionRevocations: sessionRevocations,
            deletionJobs: deletionJobs,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        applicationLogins = ApplicationLogins(
            database: database,
            sessionRevocations: sessionRevocations,
            events: resources.events,
            nonces: Nonces(encryptor, now: now),
            now: now
        )
        reencryption = Reencryption(
            Self.encrypted,
            database: database,
            encryptor: encryptor,
            logger: logger
        )
        pushSetups = PushSetups(database: database, encryptor: encryptor, logger: logger, now: now)
        administrators = Administrators(
            database: database,
            sessionRevocations: sessionRevocations,
            audit: audit,
            logger: logger,
            now: now
        )
        let issuer = TokenIssuer(
            keys: keys,
            refreshTokenTags: RefreshTokenTags(encryptor),
            issuer: resources.publicURL,
            accessTokenLifetime: settings.accessTokenLifetime,
            sessionLifetime: settings.sessionLifetime,
            sessionRevocations: sessionRevocations,
            audit: audit,
            now: now
        )
        accounts = Accounts(
            database: database,
            passwords: passwords,
            events: resources.events,
            emailOutbox: emailModule.emailOutbox,
            now: now
        )
        signIns = SignIns(
            database: database,
            passwords: passwords,
            throttle: throttle,
            issuer: issuer,
            secondFactors: credentialModule.secondFactors,
            passkeys: credentialModule.passkeys,
            events: resources.events,
            now: now
        )
        sessions = Sessions(
            database: database,
            issuer: issuer,
            sessionRevocations: sessionRevocations,
            cursors: resources.cursors,
            idleLifetime: settings.sessionIdleLifetime,
            logger: logger,
            now: now
        )
        tokenIntrospection = TokenIntrospection(
            database: database,
            credentials: resources.credentials,
            sessionRevocations: sessionRevocations,
            refreshTokenTags: RefreshTokenTags(encryptor),
            issuer: resources.publicURL
        )
        identityModule = try IdentityModule(
            IdentityConfiguration(configuration),
            resources: resources,
            encryptor: encryptor,
            throttle: throttle,
            signIns: signIns,
            reauthentication: credentialModule.reauthentication,
            earlierCredentials: credentialModule.earlierCredentials,
            audit: audit
        )
        accountModule = try AccountModule(
            resources,
            settings,
            clientInfo: clientInfo,
            credentialModule: credentialModule,
            identities: identityModule.identities,
            accounts: accounts,
            sessions: sessions,
            sessionRevocations: sessionRevocations,
            deletionJobs: deletionJobs,
            audit: audit,
            applications: applications
        )
        self.configuration = settings
        self.resources = resources
    }

    package func addRoutes(to routes: SuiteRoutes) {
        AccountRoutes(accounts: accounts, credentials: resources.credentials, clientInfo: clientInfo).add(to: routes)
        SignInRoutes(signIns: signIns, sessions: sessions, clientInfo: clientInfo).add(to: routes)
        identityModule.routes(clientInfo).add(to: routes)
        OAuthRoutes(tokens: tokenIntrospection, accounts: accounts).add(to: routes)
        let tickets = StreamTickets(keys: keys, issuer: resources.publicURL, now: resources.now)
        SessionRoutes(sessions: sessions, tickets: tickets).add(to: routes)
        credentialModule.add(to: routes, signIns, clientInfo)
        KeyDocumentRoutes(keys: keys, publicURL: resources.publicURL).add(to: routes)
        ApplicationRoutes(applications: applications, deletions: applicationDeletions, pushSetups: pushSetups)
            .add(to: routes)
        ApplicationLoginRoutes(logins: applicationLogins, clientInfo: clientInfo).add(to: routes)
        accountModule.add(to: routes)
        InternalRoutes(
            accounts: accounts,
            keys: keys,
            feed: feed,
            credentials: source,
            administrators: administrators,
            pushSetups: pushSetups,
            applications: applications
        ).add(to: routes)
    }

    package var background: [any Service] {
        identityModule.background + credentialModule.background + [
            keys, feed, applicationDeletions.background,
            reencryption.background,
            Retention(
                database: resources.database,
                sessionRevocations: sessionRevocations,
                configuration: configuration,
                logger: resources.logger,
                now: resources.now
            ),
        ] + accountModule.background
    }
}
