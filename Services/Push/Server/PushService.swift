import AuthAPI
package import Configuration
import Foundation
package import Postgres
package import ServiceHost
package import ServiceLifecycle

/// Push: which devices there are, who wants to be notified of what, and what is sent to whom.
package struct PushService: SuiteService {
    package static let name = "push"
    package static let defaultPort = 8085
    package static let migrations = [
        Migration(name: "V0001_devices_and_settings", sql: PackageResources.V0001_devices_and_settings_sql),
        EventConsumer.migration("V0003_event_inbox"),
    ]

    private let configuration: PushConfiguration
    private let devices: Devices
    private let settings: PersonalSettings
    private let subscriptions: Subscriptions
    private let topics: Topics
    private let events: EventConsumer
    private let upkeep: [any Service]

    package init(resources: ServiceResources, configuration: ConfigReader) async throws {
        let own = try PushConfiguration(configuration)
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        devices = Devices(
            database: database,
            cursors: resources.cursors,
            hosts: own.outsideHosts,
            maximum: own.maximumDevicesOfUser,
            logger: logger,
            now: now
        )
        settings = PersonalSettings(database: database)
        subscriptions = Subscriptions(
            database: database,
            cursors: resources.cursors,
            maximum: own.maximumSubscriptionsOfUser,
            now: now
        )
        topics = Topics(database: database, maximum: own.maximumTopicsOfUser)
        events = PeopleNews(devices: devices).heard(by: EventConsumer(database: database, logger: logger, now: now))
        let pruning = DevicePruning(database: database, days: own.deviceDays, now: now)
        upkeep = [
            events.background,
            Periodic("pruning of devices", every: .seconds(3_600), logger: logger, pruning.prune),
        ]
        self.configuration = own
    }

    package func addRoutes(to routes: SuiteRoutes) {
        DeviceRoutes(devices: devices, vapidKey: configuration.vapidKey).add(to: routes)
        SettingsRoutes(settings: settings).add(to: routes)
        SubscriptionRoutes(subscriptions: subscriptions).add(to: routes)
        TopicRoutes(topics: topics).add(to: routes)
        events.add(to: routes)
    }

    package var background: [any Service] { upkeep }
}
