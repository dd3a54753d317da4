import AuthAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// The components for whole accounts: deletion, export and audit log for owners; reports, disabling and sign-out for
/// the operator.
struct AccountModule: Sendable {
    private let deletionJobs: DeletionJobs
    private let completionEvents: EventConsumer
    private let accountDeletionRoutes: AccountDeletionRoutes
    private let auditRoutes: AuditRoutes
    private let exportRoutes: ExportRoutes
    private let operatorRoutes: OperatorRoutes
    private let resources: ServiceResources

    init(
        _ resources: ServiceResources,
        _ settings: AuthConfiguration,
        clientInfo: ClientInfoReader,
        credentialModule: CredentialModule,
        identities: Identities,
        accounts: Accounts,
        sessions: Sessions,
        sessionRevocations: SessionRevocations,
        deletionJobs: DeletionJobs,
        audit: Audit,
        applications: Applications
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let auditLog = AuditLog(database: database, cursors: resources.cursors)
        let accountDeletions = AccountDeletions(
            database: database,
            reauthentication: credentialModule.reauthentication,
            identities: identities,
            deletionJobs: deletionJobs,
            sessionRevocations: sessionRevocations
        )
        let own = AuthExport(
            accounts: accounts,
            sessions: sessions,
            identities: identities,
            passkeys: credentialModule.passkeys,
            secondFactors: credentialModule.secondFactors,
            audit: auditLog,
            applications: applications
        )
        completionEvents = EventConsumer(database: database, logger: logger, now: now)
            .on(
                UserDeletionCompleted.self,
                from: [.conversations, .photos, .push, .social],
                deletionJobs.recordCompletion
            )
        accountDeletionRoutes = AccountDeletionRoutes(accountDeletions: accountDeletions, deletionJobs: deletionJobs)
        auditRoutes = AuditRoutes(auditLog: auditLog)
        exportRoutes = ExportRoutes(
            exports: AccountExports(
                database: database,
                own: Exports(own.write),
                // The subscribers of this event are the services that store user data.
                sources: try resources.events.subscribers(of: UserDeleted.self).sorted().map { name in
                    AccountExports.Source(name: name, client: try resources.peers.client(name))
                },
                audit: audit,
                exportLimit: ExportLimit(capacity: settings.maximumExports),
                now: now
            ),
            clientInfo: clientInfo
        )
        operatorRoutes = OperatorRoutes(
            reports: AccountReports(database: database),
            disabled: DisabledAccounts(
                database: database,
                sessionRevocations: sessionRevocations,
                audit: audit,
                logger: logger,
                now: now
            ),
            accountDeletions: accountDeletions,
            sessionRevocations: sessionRevocations,
            sessions: sessions,
            audit: auditLog
        )
        self.deletionJobs = deletionJobs
        self.resources = resources
    }

    func add(to routes: SuiteRoutes) {
        accountDeletionRoutes.add(to: routes)
        auditRoutes.add(to: routes)
        exportRoutes.add(to: routes)
        operatorRoutes.add(to: routes)
        completionEvents.add(to: routes)
    }

    var background: [any Service] {
        [
            completionEvents.background,
            PeriodicTask("account deletions", every: .seconds(1), logger: resources.logger, deletionJobs.advance),
        ]
    }
}
