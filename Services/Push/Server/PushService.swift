import AuthAPI
package import Configuration
import Foundation
package import Postgres
import PushAPI
package import ServiceHost
package import ServiceLifecycle
import Wire

/// The service that keeps devices and settings and sends notifications to users.
package struct PushService: SuiteService {
    package static let name = "push"
    package static let defaultPort = 8085
    package static let migrations = [
        Migration(name: "V0001_create_push", sql: PackageResources.V0001_create_push_sql),
        EventOutbox.migration("V0002_create_event_outbox"),
        EventConsumer.migration("V0003_create_event_inbox"),
        DeletionConfirmations.migration("V0004_create_unconfirmed_deletions"),
    ]
    package static let events: Set = [UserDeletionCompleted.type, DevicesChanged.type, DeviceChanged.type]
    package static let setAsideKinds: [SetAsideKind] = [.fanout, .held, .queued, .unconfirmedDeletion]

    private let devices: Devices
    private let settings: SettingsService
    private let subscriptions: Subscriptions
    private let topics: Topics
    private let events: EventConsumer
    private let exports: Exports
    private let providers: Providers
    private let pipeline: Pipeline
    private let backgroundServices: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        try self.init(resources, PushConfiguration(configuration))
    }

    init(_ resources: ServiceResources, _ own: PushConfiguration) throws {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let owners = DeviceOwners(database: database, events: resources.events)
        devices = Devices(
            database: database,
            cursors: resources.cursors,
            hosts: own.addressGuard,
            maximum: own.maximumDevicesPerUser,
            owners: owners,
            events: resources.events,
            logger: logger,
            now: now
        )
        settings = SettingsService(database: database, now: now)
        subscriptions = Subscriptions(
            database: database,
            cursors: resources.cursors,
            maximum: own.maximumSubscriptionsPerUser,
            now: now
        )
        topics = Topics(database: database, maximum: own.maximumTopicsPerUser)
        let auth = AuthClient(try resources.peers.client("auth"))
        providers = Providers(
            own: own.credentials,
            // Roost's own users have the deployment's credentials.
            fetch: { application in
                guard application != RoostApplication.id else { return [:] }
                return try await ProviderCredentials.all(auth.pushCredentials(of: application))
            },
            makeClient: own.client,
            logger: logger,
            now: now
        )
        pipeline = Pipeline(
            database: database,
            events: resources.events,
            providers: providers,
            texts: try PushTexts(folder: own.messagesPath),
            settings: own.pipeline,
            cursors: resources.cursors,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        exports = Exports(UserDataExport(database: database).write)
        let deletionConfirmations = DeletionConfirmations(
            of: Self.name,
            database: database,
            events: resources.events,
            setAside: resources.setAside,
            logger: logger,
            now: now,
            isGone: DeletedUserMentions(database: database, now: now).removeData,
            deleteApplicationData: ApplicationRowDeletion(UserDeletionStore<PostgresPool>.tables, database: database)
                .erase
        )
        events = UserEventHandlers(
            devices: devices,
            broadcasts: pipeline.broadcasts,
            signIns: SignInNotices(intake: pipeline.intake, now: now),
            deletionConfirmations: deletionConfirmations,
            now: now
        )
        .addHandlers(to: EventConsumer(database: database, logger: logger, now: now))
        let pruning = DevicePruning(
            database: database,
            events: resources.events,
            days: own.deviceDays,
            now: now
        )
        // Services stop in reverse order, because notifications in flight need their provider.
        backgroundServices =
            [
                providers,
                events.background,
                deletionConfirmations.background,
                PeriodicTask("pruning of devices", every: .seconds(3_600), logger: logger, pruning.prune),
                PeriodicTask("comparison of device owners", every: .seconds(600), logger: logger, owners.compare),
            ] + pipeline.background
    }

    package func addRoutes(to routes: SuiteRoutes) {
        DeviceRoutes(devices: devices, providers: providers).add(to: routes)
        SettingsRoutes(settings: settings).add(to: routes)
        SubscriptionRoutes(subscriptions: subscriptions).add(to: routes)
        TopicRoutes(topics: topics).add(to: routes)
        NotificationRoutes(notifications: pipeline.notifications, log: pipeline.log).add(to: routes)
        InternalPushRoutes(intake: pipeline.intake, queueAdmin: pipeline.queueAdmin).add(to: routes)
        events.add(to: routes)
        exports.add(to: routes)
    }

    package var background: [any Service] { backgroundServices }
}
