import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// The way of a notification, put together: taken, decided, queued, sent, written down.
struct Pipeline: Sendable {
    let intake: Intake
    let broadcasts: Broadcasts
    let notifications: Notifications
    let log: NotificationLog
    let oversight: Oversight
    let fanOut: FanOut
    let sending: Sending
    let upkeep: Upkeep
    private let logger: Logger

    init(
        database: PostgresPool,
        providers: any ProviderDirectory,
        texts: PushTexts,
        settings: PipelineConfiguration,
        cursors: CursorSigner,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.logger = logger
        sending = Sending(
            database: database,
            providers: providers,
            texts: texts,
            settings: settings,
            setAside: setAside,
            logger: logger,
            now: now
        )
        fanOut = FanOut(
            database: database,
            rules: Rules(cooldown: settings.cooldown),
            queued: sending.bell,
            setAside: setAside,
            logger: logger,
            now: now
        )
        intake = Intake(database: database, bell: fanOut.bell, texts: texts, now: now)
        broadcasts = Broadcasts(intake: intake, lifetime: settings.broadcastLifetime, now: now)
        notifications = Notifications(database: database, intake: intake, now: now)
        log = NotificationLog(database: database, cursors: cursors, texts: texts)
        oversight = Oversight(database: database, bell: sending.bell, now: now)
        upkeep = Upkeep(database: database, settings: settings, now: now)
    }

    var background: [any Service] { [sending, fanOut] + upkeep.background(logger) }
}
