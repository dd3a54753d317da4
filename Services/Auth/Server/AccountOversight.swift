import AuthAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// What becomes of accounts as a whole, put together: their owners read what happened, take everything along and go; the
/// operator sees them, shuts them and sees people out.
struct AccountOversight: Sendable {
    private let departures: Departures
    private let answers: EventConsumer
    private let departureRoutes: DepartureRoutes
    private let auditRoutes: AuditRoutes
    private let exportRoutes: ExportRoutes
    private let operatorRoutes: OperatorRoutes
    private let resources: ServiceResources

    init(
        _ resources: ServiceResources,
        _ settings: AuthConfiguration,
        callers: Callers,
        care: CredentialCare,
        identities: Identities,
        accounts: Accounts,
        sessions: Sessions,
        ends: SessionEnds,
        departures: Departures,
        audit: Audit,
        applications: Applications
    ) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let lists = AuditLists(database: database, cursors: resources.cursors)
        let erasure = AccountErasure(
            database: database,
            reauthentication: care.reauthentication,
            identities: identities,
            departures: departures,
            ends: ends
        )
        let own = OwnRecords(
            accounts: accounts,
            sessions: sessions,
            identities: identities,
            passkeys: care.passkeys,
            secondFactors: care.secondFactors,
            audit: lists,
            applications: applications
        )
        answers = EventConsumer(database: database, logger: logger, now: now)
            .on(UserErased.self, from: [.conversations, .photos, .push, .social], departures.take)
        departureRoutes = DepartureRoutes(erasure: erasure, departures: departures)
        auditRoutes = AuditRoutes(lists: lists)
        exportRoutes = ExportRoutes(
            exports: AccountExports(
                database: database,
                own: Exports(own.write),
                // Who is told of deleted people is who keeps something of them.
                sources: try resources.events.subscribers(of: UserDeleted.self).sorted().map { name in
                    AccountExports.Source(name: name, client: try resources.neighbours.client(name))
                },
                audit: audit,
                slots: ExportSlots(capacity: settings.maximumExports),
                now: now
            ),
            callers: callers
        )
        operatorRoutes = OperatorRoutes(
            reports: AccountReports(database: database),
            disabled: DisabledAccounts(database: database, ends: ends, audit: audit, logger: logger, now: now),
            erasure: erasure,
            ends: ends,
            sessions: sessions,
            audit: lists
        )
        self.departures = departures
        self.resources = resources
    }

    func add(to routes: SuiteRoutes) {
        departureRoutes.add(to: routes)
        auditRoutes.add(to: routes)
        exportRoutes.add(to: routes)
        operatorRoutes.add(to: routes)
        answers.add(to: routes)
    }

    var background: [any Service] {
        [
            answers.background,
            Periodic("departure of deleted people", every: .seconds(1), logger: resources.logger, departures.goOn),
        ]
    }
}
