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

/// Accounts, their sessions, and the keys by which every service knows them.
package struct AuthService: SuiteService {
    package static let name = "auth"
    package static let defaultPort = 8081
    package static let migrations = [
        Migration(
            name: "V0001_create_accounts_and_sessions",
            sql: PackageResources.V0001_create_accounts_and_sessions_sql
        ),
        Migration(name: "V0002_create_applications", sql: PackageResources.V0002_create_applications_sql),
        EventOutbox.migration("V0003_create_event_outbox"),
        Migration(name: "V0004_create_push_credentials", sql: PackageResources.V0004_create_push_credentials_sql),
    ]
    package static let events: Set = [
        DeviceRegistered.type, SessionEnded.type, UserChanged.type, UserDeleted.type,
    ]

    private let configuration: AuthConfiguration
    private let resources: ServiceResources
    private let keys: SigningKeys
    private let feed: RevocationFeed
    private let accounts: Accounts
    private let signIns: SignIns
    private let sessions: Sessions
    private let ends: SessionEnds
    private let applications: Applications
    private let applicationLogins: ApplicationLogins
    private let pushSetups: PushSetups
    private let administrators: Administrators
    private let source: any CredentialSource

    package static func credentialSource(
        database: PostgresPool,
        neighbours: Neighbours,
        configuration: ConfigReader,
        now: @escaping @Sendable () -> Date
    ) async throws -> any CredentialSource {
        LocalCredentials(
            database: database,
            revocationLifetime: try AuthConfiguration(configuration).revocationLifetime,
            now: now
        )
    }

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let settings = try AuthConfiguration(configuration)
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let sealer = try Sealer(keys: configuration.secret("TOKEN_ENCRYPTION_KEY"))
        let passwords = try Passwords(
            parameters: settings.argon2,
            threads: settings.hashingThreads,
            maximumWaiting: settings.hashingQueue
        )

        keys = SigningKeys(database: database, sealer: sealer, logger: logger, now: now)
        try await keys.load()
        feed = RevocationFeed(
            database: database,
            lifetime: settings.revocationLifetime,
            logger: logger,
            now: now,
            tell: resources.credentials.revoke
        )
        try await feed.load()
        ends = SessionEnds(database: database, events: resources.events, feed: feed, now: now)
        source = LocalCredentials(
            database: database,
            revocationLifetime: settings.revocationLifetime,
            now: now
        )
        applications = Applications(
            database: database,
            ends: ends,
            events: resources.events,
            cursors: resources.cursors,
            threads: HashingThreads(count: 1, maximumWaiting: 8),
            logger: logger,
            now: now
        )
        applicationLogins = ApplicationLogins(
            database: database,
            ends: ends,
            events: resources.events,
            nonces: Nonces(sealer, now: now),
            now: now
        )
        pushSetups = PushSetups(database: database, sealer: sealer, logger: logger, now: now)
        administrators = Administrators(database: database, ends: ends, logger: logger, now: now)
        let issuer = TokenIssuer(
            keys: keys,
            refreshTokenTags: RefreshTokenTags(sealer),
            issuer: resources.publicURL,
            accessTokenLifetime: settings.accessTokenLifetime,
            sessionLifetime: settings.sessionLifetime,
            now: now
        )
        accounts = Accounts(database: database, passwords: passwords, events: resources.events, now: now)
        signIns = SignIns(
            database: database,
            passwords: passwords,
            throttle: LoginThrottle(
                failures: settings.loginFailures,
                failuresPerAddress: settings.loginFailuresPerAddress,
                window: settings.loginWindow
            ),
            issuer: issuer,
            now: now
        )
        sessions = Sessions(
            database: database,
            issuer: issuer,
            ends: ends,
            cursors: resources.cursors,
            idleLifetime: settings.sessionIdleLifetime,
            logger: logger,
            now: now
        )
        self.configuration = settings
        self.resources = resources
    }

    package func addRoutes(to routes: SuiteRoutes) {
        let callers = Callers(gateway: configuration.gatewayAddresses)
        AccountRoutes(accounts: accounts, credentials: resources.credentials).add(to: routes)
        SignInRoutes(signIns: signIns, sessions: sessions, callers: callers).add(to: routes)
        SessionRoutes(sessions: sessions).add(to: routes)
        KeyDocumentRoutes(keys: keys, publicURL: resources.publicURL).add(to: routes)
        ApplicationRoutes(applications: applications, pushSetups: pushSetups).add(to: routes)
        ApplicationLoginRoutes(logins: applicationLogins, callers: callers).add(to: routes)
        NeighbourRoutes(
            accounts: accounts,
            keys: keys,
            feed: feed,
            credentials: source,
            administrators: administrators,
            pushSetups: pushSetups
        ).add(to: routes)
    }

    package var background: [any Service] {
        [
            keys, feed,
            Periodic(
                "renewal of encryption",
                every: .seconds(60),
                logger: resources.logger,
                pushSetups.renewEncryption
            ),
            Housekeeping(
                database: resources.database,
                ends: ends,
                configuration: configuration,
                logger: resources.logger,
                now: resources.now
            ),
        ]
    }
}
